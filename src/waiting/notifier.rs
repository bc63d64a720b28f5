//! The process that notifies listeners of work: one for the server, because it belongs to no database. As it sees the memory of all
//! databases, it also starts a worker where something is overdue.
//!
//! Work becomes claimable by a commit, but also by an abort, which cannot send anything, or when a time comes. So
//! only this process sends, in a transaction of its own, and no commit ever waits for the lock that sending takes. It
//! sleeps while nothing is owed; see `turnstile_scheduler::waiting::channels`.

#![allow(
    unsafe_code,
    reason = "is the main function of a process of the server"
)]

use crate::job::lane::channel;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::shmem::latches::{own_number, wait_until};
use crate::shmem::{self, Owed};
use crate::waiting::housekeeping::Housekeeping;
use crate::waiting::tour::Tour;
use crate::waiting::{patrol, process};
use pgrx::pg_guard;
use pgrx::pg_sys;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use turnstile_scheduler::times::NEVER;

const NAME: &CStr = c"turnstile notifier";
const FUNCTION: &CStr = c"turnstile_notifier_main";
const SECONDS_TO_RESTART: i32 = 1;

unsafe extern "C-unwind" {
    /// The server's own, which the bindings lack.
    fn Async_Notify(channel: *const c_char, payload: *const c_char);
}

/// Called from `_PG_init` while the server preloads the library.
pub fn register() {
    let mut worker = process::describe(NAME, FUNCTION);
    worker.bgw_restart_time = SECONDS_TO_RESTART;
    // SAFETY: the server copies the description.
    unsafe { pg_sys::RegisterBackgroundWorker(&mut worker) };
}

/// An error ends the process; the next one begins with what this one has not sent.
#[doc(hidden)]
#[unsafe(no_mangle)]
#[pg_guard]
pub extern "C-unwind" fn turnstile_notifier_main(_arg: pg_sys::Datum) {
    // SAFETY: as the server's own processes begin. Without a database only shared catalogs can be read.
    unsafe {
        process::begin();
        pg_sys::BackgroundWorkerInitializeConnection(null(), null(), 0);
        pg_sys::before_shmem_exit(Some(at_exit), pg_sys::Datum::null());
    }
    if let Err(failure) = run() {
        failure.raise();
    }
}

/// Settings of the server, such as what it logs.
fn read_settings() {
    // SAFETY: the flag is set by the handler above; the process is in no transaction.
    unsafe {
        if pg_sys::ConfigReloadPending != 0 {
            pg_sys::ConfigReloadPending = 0;
            pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_exit(_code: std::ffi::c_int, _arg: pg_sys::Datum) {
    let _ = catch_unwind(AssertUnwindSafe(|| shmem::end_notifier(own_number())));
}

fn run() -> Result<()> {
    shmem::begin_notifier(own_number())?;
    let mut housekeeping = Housekeeping::begin();
    let mut tour = Tour::default();
    loop {
        let mut until = housekeeping.run()?.min(tour.run()?);
        for slot in shmem::slots() {
            until = until.min(see_to_overdue(slot)?);
            let Some(owed) = shmem::take_owed(slot)? else {
                continue;
            };
            until = until.min(owed.until);
            if !owed.queues.is_empty() {
                send(&owed);
                shmem::note_sent(slot)?;
            }
        }
        wait_until(until);
        read_settings();
    }
}

/// Starts a worker where something is overdue; returns when to look again.
fn see_to_overdue(slot: usize) -> Result<i64> {
    let Some(look) = shmem::look(slot)? else {
        return Ok(NEVER);
    };
    if look.starts && !armed(Seeded::LeaveOverdue) {
        patrol::start(shmem::database_of(slot)?);
    }
    Ok(look.until)
}

/// A notification goes to the listeners of the sender's database, and PostgreSQL takes that from MyDatabaseId alone.
/// A process connects to one database, once; a process for each would keep all of them from being dropped, and take a
/// worker slot each. So this process has no database, and takes on the id of theirs for a transaction that reads none
/// of its catalogs.
fn send(owed: &Owed) {
    let channels = owed
        .queues
        .iter()
        .map(|&queue| CString::new(channel(queue)));
    // SAFETY: the process is in no transaction, and no cache of it depends on the database.
    unsafe {
        let before = pg_sys::MyDatabaseId;
        if !armed(Seeded::TellNoDatabase) {
            pg_sys::MyDatabaseId = owed.database;
        }
        pg_sys::StartTransactionCommand();
        for channel in channels.flatten() {
            Async_Notify(channel.as_ptr(), null());
        }
        pg_sys::CommitTransactionCommand();
        pg_sys::MyDatabaseId = before;
    }
}
