//! What is known of a database without its lock.

use super::directory::{self, Entry};
use super::slots::slot;
use super::stock::Stock;
use crate::pg::seeded::{Seeded, armed};
use pgrx::pg_sys;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Sees to it that the end of a transaction, which can give the database no memory, finds some. Where there is none to be
/// had, nothing is counted.
pub fn provide(job_table: pg_sys::Oid) {
    let _ = slot(job_table);
}

/// Drawn anew by each commit that changes routes or settings of queues, once its rows are visible. What is read after
/// this call is right for as long as the call returns the same. None: there is no memory for the database, and nothing
/// that is read can be kept.
pub fn routes_version(job_table: pg_sys::Oid) -> Option<u64> {
    version(job_table, |entry| &entry.routes_version)
}

/// As [`routes_version`], of the bounds of backlogs.
pub fn bounds_version(job_table: pg_sys::Oid) -> Option<u64> {
    version(job_table, |entry| &entry.bounds_version)
}

/// The numbers of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Ids,
    Positions,
}

/// Those that were drawn ahead. None: there is no memory for the database.
pub fn stock(job_table: pg_sys::Oid, numbers: Numbers) -> Option<&'static Stock> {
    let entry = slot(job_table).and_then(directory::entry).ok()?;
    Some(match numbers {
        Numbers::Ids => &entry.ids,
        Numbers::Positions => &entry.positions,
    })
}

/// The claim epoch of the database: see `job::claim_epoch`. None: there is no memory for the database.
pub fn claim_epoch(job_table: pg_sys::Oid) -> Option<&'static AtomicU32> {
    let entry = slot(job_table).and_then(directory::entry).ok()?;
    Some(&entry.claim_epoch)
}

/// Whether commits that nobody waited for may be missing since the server's start.
pub fn may_lack_commits() -> bool {
    directory::may_lack_commits() && !armed(Seeded::TrustEachStart)
}

fn version(job_table: pg_sys::Oid, of: impl Fn(&Entry) -> &AtomicU64) -> Option<u64> {
    let entry = slot(job_table).and_then(directory::entry).ok()?;
    Some(of(entry).load(Ordering::Acquire))
}
