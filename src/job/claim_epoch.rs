//! Claim epochs: one ends where the server loses what it had in memory, as by a crash, and claims that nobody waited for may be gone.
//!
//! A claim that a crash takes back leaves the job as it was, while its worker goes on with the run. So that (id, attempt) names no
//! other run:
//! 1. A job knows since which epoch no claim of it was lost (`claim_epoch`). A later one skips as many attempts as epochs have ended.
//! 2. Only the first claim of a job in an epoch may be lost, and only of a job that knows its epoch.
//! 3. The number of an epoch is on disk before a job has it.
//!
//! See docs/decisions/059-claims-that-a-crash-may-take-back.md.

use crate::job::column;
use crate::job::lane::queue_key;
use crate::job::later::Later;
use crate::job::queue_settings;
use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::error::{Result, internal};
use crate::pg::log_position;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::sequence::Page;
use crate::pg::tuple::RawRow;
use crate::shmem;
use pgrx::pg_sys::Datum;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

const SEQUENCE: &CStr = c"claim_epoch_seq";

/// What the epoch means to one claim of a job.
#[derive(Clone, Copy, Default)]
pub struct Claim {
    /// Attempts that lost claims may have had.
    pub skipped: i32,
    /// What the job knows from now on.
    pub epoch: Option<i32>,
    pub may_be_lost: bool,
}

/// A claim of a job that has had so many attempts, and knows this epoch.
pub fn of_claim(attempts: i32, known: Option<i32>, durable_claims: bool) -> Result<Claim> {
    if known.is_none() && durable_claims {
        return Ok(Claim::default());
    }
    let current = current()?.ok_or_else(|| internal("there is no claim epoch"))?;
    let ended = known.map_or(0, |known| current.saturating_sub(known));
    let is_first = attempts == 0 || ended > 0 || armed(Seeded::LoseAnyClaim);
    Ok(Claim {
        skipped: match armed(Seeded::SkipNoAttempt) {
            true => 0,
            false => ended.max(0),
        },
        epoch: (!durable_claims).then_some(current),
        may_be_lost: !durable_claims && known.is_some() && ended >= 0 && is_first,
    })
}

/// What a job knows that is added to a queue.
pub fn of_new(durable_claims: bool) -> Result<Option<i32>> {
    match durable_claims {
        true => Ok(None),
        false => current(),
    }
}

/// As [`of_new`], for a row that a statement adds: the column and its value. One that is written, as a restore does, stays.
pub fn of_inserted(row: &RawRow) -> Result<Option<(usize, Datum)>> {
    let queue = queue_key(row.text(column::QUEUE).unwrap_or_default());
    let durable_claims = queue_settings::has_durable_claims(queue)?;
    let column = Later::of(row).claim_epoch;
    if durable_claims || row.far(column).is_some() {
        return Ok(None);
    }
    let epoch = of_new(durable_claims)?.and_then(datum);
    Ok(epoch.map(|epoch| (column, epoch)))
}

/// The epoch of the database. None: there is no memory for it.
fn current() -> Result<Option<i32>> {
    let Some(known) = shmem::claim_epoch(catalog::job_table()?) else {
        return Ok(None);
    };
    let epoch = match known.load(Ordering::Acquire) {
        0 => find(known)?,
        epoch => epoch,
    };
    Ok(i32::try_from(epoch).ok())
}

/// The last epoch goes on after a shutdown.
fn find(known: &AtomicU32) -> Result<u32> {
    let page = Page::lock(catalog::relation(SEQUENCE)?);
    let last = page.last().filter(|_| !shmem::may_lack_commits());
    let number = last.or_else(|| page.draw(1).map(|drawn| *drawn.end()));
    page.release();
    let number = match number {
        Some(number) => number,
        None => catalog::next_number(SEQUENCE)?,
    };
    if !armed(Seeded::LoseEpoch) {
        log_position::flush();
    }
    let epoch = u32::try_from(number).map_err(|_| internal("the claim epoch is out of range"))?;
    // The one that another process has found meanwhile counts.
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    match known.compare_exchange(0, epoch, success, failure) {
        Ok(_) => Ok(epoch),
        Err(found) => Ok(found),
    }
}
