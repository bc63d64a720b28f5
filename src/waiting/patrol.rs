//! Starts a background worker in a database where something is overdue. The notifier does it, which sees the memory of all.

#![allow(unsafe_code, reason = "registers a process of the server")]

use crate::pg::catalog;
use crate::pg::error::Failure;
use crate::waiting::process;
use pgrx::pg_sys::{self, FormData_pg_database};
use pgrx::prelude::PgSqlErrorCode;
use std::cell::Cell;
use std::ffi::CStr;
use std::ptr::null_mut;

const NAME: &CStr = c"turnstile upkeep";
const FUNCTION: &CStr = c"turnstile_upkeep_main";

thread_local! {
    static HAS_WARNED: Cell<bool> = const { Cell::new(false) };
}

/// Starts a worker, if the database accepts connections and the server has room for another process.
pub fn start(database: pg_sys::Oid) {
    // SAFETY: a flag of the server. pg_upgrade runs it, and nothing may change meanwhile.
    if unsafe { pg_sys::IsBinaryUpgrade } || !accepts_connections(database) {
        return;
    }
    let mut worker = process::describe(NAME, FUNCTION);
    worker.bgw_restart_time = pg_sys::BGW_NEVER_RESTART;
    worker.bgw_main_arg = pg_sys::Datum::from(database);
    // SAFETY: the server copies the description.
    let is_started = unsafe { pg_sys::RegisterDynamicBackgroundWorker(&mut worker, null_mut()) };
    if !is_started && !HAS_WARNED.replace(true) {
        Failure::new(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            "no background worker is free for the upkeep of queues",
        )
        .detail(
            "Queues that nobody claims from have jobs that are due or runs that were abandoned.",
        )
        .hint("Raise max_worker_processes, or call turnstile.maintain() from time to time.")
        .warn();
    }
}

/// A database may have been dropped while its memory is still there.
fn accepts_connections(database: pg_sys::Oid) -> bool {
    // SAFETY: the process is in no transaction. It has no database, but may read the catalogs that all databases share.
    unsafe {
        pg_sys::StartTransactionCommand();
        let accepts = catalog::read(database, |row: &FormData_pg_database| row.datallowconn);
        pg_sys::CommitTransactionCommand();
        accepts.unwrap_or(false)
    }
}
