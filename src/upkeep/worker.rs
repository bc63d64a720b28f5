//! The background worker that fires recurring jobs, promotes and rescues in a database where no claim does that, and ends when
//! nothing is due.
//!
//! It works in short transactions, and stays no longer than it must: a connection keeps a database from being dropped. It
//! begins with the rights of a superuser, so all that it does, the end of each transaction included, it does as the
//! owner of the jobs, as claims do: triggers on the jobs are a user's code.

#![allow(
    unsafe_code,
    reason = "is the main function of a process of the server"
)]

use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::locks::{Object, Part};
use crate::pg::rights::Owner;
use crate::pg::served::must_know_catalog;
use crate::pg::server::{self, SECOND};
use crate::pg::settings;
use crate::pg::spi::with_spi;
use crate::recurring;
use crate::shmem;
use crate::shmem::latches::wait_until;
use crate::transaction;
use crate::upkeep::{self, Left};
use crate::waiting::process;
use pgrx::{pg_guard, pg_sys};
use std::ffi::CStr;

/// A worker that always has more to do leaves the processors to others for so many times as long as it has worked.
const REST: i64 = 9;
const LONGEST_REST: i64 = SECOND;
/// It works so long without a rest on jobs that wait for others: people look on while an order of theirs is carried out.
const SPURT: i64 = 2 * SECOND;

/// What a database or the superuser may have set otherwise. Where a lock is held for long, the worker gives up.
const SETTINGS: [(&CStr, &CStr); 6] = [
    (c"lock_timeout", c"50ms"),
    (c"statement_timeout", c"0"),
    (c"session_replication_role", c"origin"),
    (c"default_transaction_isolation", c"read committed"),
    (c"default_transaction_read_only", c"off"),
    (c"search_path", c"pg_catalog, pg_temp"),
];

/// An error ends the process; another is started later.
#[doc(hidden)]
#[unsafe(no_mangle)]
#[pg_guard]
pub extern "C-unwind" fn turnstile_upkeep_main(database: pg_sys::Datum) {
    let database = pg_sys::Oid::from(u32::try_from(database.value()).unwrap_or(0));
    // SAFETY: as the server's own processes begin. Without a role the process is that of the first superuser.
    unsafe {
        process::begin();
        pg_sys::BackgroundWorkerInitializeConnectionByOid(database, pg_sys::InvalidOid, 0);
        for (name, value) in SETTINGS {
            pg_sys::SetConfigOption(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_SUSET,
                pg_sys::GucSource::PGC_S_OVERRIDE,
            );
        }
    }
    work_off();
    shmem::end_visit(database);
}

fn work_off() {
    let mut pace = Pace {
        spurt: SPURT,
        has_changed_something: false,
    };
    loop {
        let begun = server::now();
        let left = round(&mut pace);
        let now = server::now();
        match pace.rest_after(left, now.saturating_sub(begun)) {
            Some(rest) => wait_until(now.saturating_add(rest)),
            None => break,
        }
    }
}

struct Pace {
    /// For how long it may still work without a rest.
    spurt: i64,
    has_changed_something: bool,
}

impl Pace {
    /// None: there is nothing more to do.
    fn rest_after(&mut self, left: Left, took: i64) -> Option<i64> {
        match left {
            Left::Nothing => None,
            Left::FollowUps if self.spurt > 0 => {
                self.spurt = self.spurt.saturating_sub(took);
                Some(0)
            }
            Left::Firings => Some(0),
            Left::FollowUps | Left::Due => Some(took.saturating_mul(REST).min(LONGEST_REST)),
        }
    }
}

/// A recurring job fires in a transaction of its own: what fails elsewhere must not keep it from that.
fn round(pace: &mut Pace) -> Left {
    let has_more = transact(|job_table| fire(job_table, pace)).unwrap_or(false);
    // What it locks is free again before the rest begins.
    transact(|job_table| follow_up(job_table, pace));
    let left = transact(|job_table| patrol(job_table, pace)).unwrap_or(Left::Nothing);
    match left {
        Left::Nothing if has_more => Left::Firings,
        left => left,
    }
}

/// None: the extension was dropped, or its catalog belongs to another library, or another worker works on these jobs.
fn transact<R>(work: impl FnOnce(pg_sys::Oid) -> Result<R>) -> Option<R> {
    // SAFETY: the process is in no transaction. An error aborts it and ends the process.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
    }
    match as_owner(work) {
        Ok(result) => result,
        Err(failure) => failure.raise(),
    }
}

/// Ends the transaction.
fn as_owner<R>(work: impl FnOnce(pg_sys::Oid) -> Result<R>) -> Result<Option<R>> {
    let job_table = match catalog::job_table() {
        Ok(table) if must_know_catalog().is_ok() && may_work(table) => table,
        _ => {
            end();
            return Ok(None);
        }
    };
    Owner::of_jobs()?
        .run_to_commit(|| work(job_table), end)
        .map(Some)
}

/// Whether more recurring jobs may be due.
fn fire(job_table: pg_sys::Oid, pace: &mut Pace) -> Result<bool> {
    if !settings::fires_recurring() {
        with_spi(|spi| recurring::rest(spi, job_table))?;
        return Ok(false);
    }
    let fired = with_spi(|spi| recurring::fire(spi, job_table, 1))?;
    pace.has_changed_something |= transaction::has_id();
    Ok(fired.has_more)
}

fn is_wanted(job_table: pg_sys::Oid) -> Result<bool> {
    let is_wanted = shmem::with_existing(job_table, |memory| Ok(memory.wants_patrol()))?;
    Ok(is_wanted == Some(true))
}

fn follow_up(job_table: pg_sys::Oid, pace: &mut Pace) -> Result<()> {
    if is_wanted(job_table)? {
        with_spi(|spi| upkeep::follow_up_all(spi, job_table))?;
    }
    pace.has_changed_something |= transaction::has_id();
    Ok(())
}

fn patrol(job_table: pg_sys::Oid, pace: &mut Pace) -> Result<Left> {
    let left = match is_wanted(job_table)? {
        true => with_spi(|spi| upkeep::patrol(spi, job_table))?,
        false => Left::Nothing,
    };
    pace.has_changed_something |= transaction::has_id();
    if left == Left::Nothing {
        shmem::with_existing(job_table, |memory| {
            memory.state.patrol.ended(pace.has_changed_something);
            Ok(())
        })?;
    }
    Ok(left)
}

fn end() {
    // SAFETY: the snapshot was pushed when the transaction began.
    unsafe {
        pg_sys::PopActiveSnapshot();
        pg_sys::CommitTransactionCommand();
    }
}

/// Whether the database is not being dropped, and no other worker works on these jobs.
fn may_work(job_table: pg_sys::Oid) -> bool {
    Object::database().try_lock(pg_sys::RowExclusiveLock)
        && Object::part(job_table, Part::Worker).try_lock(pg_sys::ExclusiveLock)
}
