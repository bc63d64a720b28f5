//! Whether rows are locked by others, without a lock of one's own: who only looks must be in nobody's way.

use super::command::command;
use super::opened::Operation;
use super::search::{Order, Where};
use super::surroundings::lock_jobs;
use crate::job::column;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys;
use turnstile_scheduler::LaneSpec;

/// Rows that are passed over at most.
const MOST: usize = 10_000;

/// How a job is kept from claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Free,
    /// A transaction that has not ended has locked or changed it.
    Locked,
    /// This transaction has added or changed it, and has not ended.
    Own,
}

/// The first jobs of a range of positions.
#[derive(Default)]
pub struct Found {
    /// (id, position) of the first that is not locked.
    pub free: Option<(i64, i64)>,
    /// Some were there, but all are locked or passed over.
    pub all_held: bool,
}

/// How a job is held.
pub fn hold_of(job_id: i64) -> Result<Hold> {
    let jobs = lock_jobs(pg_sys::AccessShareLock)?;
    if !jobs.is_direct() || armed(Seeded::OverlookLocks) {
        return Ok(Hold::Free);
    }
    command(|command| {
        let jobs = command.open(&jobs, Operation::Look);
        let mut found = jobs.search(Order::ById, &[Where::Is(column::ID, job_id)])?;
        let Some(row) = found.next() else {
            return Ok(Hold::Free);
        };
        Ok(match (row.is_own(), row.is_held()) {
            (true, _) => Hold::Own,
            (false, true) => Hold::Locked,
            (false, false) => Hold::Free,
        })
    })
}

/// The first job of a lane from a position on and before another that a claim could lock, and that it does not pass over. None: rows
/// of this table cannot be looked at directly.
pub fn first_free(
    spec: &LaneSpec,
    (from, before): (i64, i64),
    own: &[i64],
    mut is_passed_over: impl FnMut(&RawRow) -> Result<bool>,
) -> Result<Option<Found>> {
    let jobs = lock_jobs(pg_sys::AccessShareLock)?;
    if !jobs.is_direct() {
        return Ok(None);
    }
    let conditions = [
        Where::Is(column::LANE_GROUP, spec.group().cast_signed()),
        Where::Is(column::LANE, spec.lane.cast_signed()),
        Where::From(column::POSITION, from),
        Where::Before(column::POSITION, before),
    ];
    command(|command| {
        let jobs = command.open(&jobs, Operation::Look);
        let mut rows = jobs.search(Order::ByLane, &conditions)?;
        let mut found = Found::default();
        for _ in 0..MOST {
            let Some(row) = rows.next() else { break };
            let (id, position) = (row.int8(column::ID), row.int8(column::POSITION));
            if position.is_none_or(|at| own.contains(&at)) {
                continue;
            }
            let is_locked = row.is_held() && !armed(Seeded::OverlookLocks);
            if is_locked || is_passed_over(&row)? {
                found.all_held = true;
                continue;
            }
            found.free = id.zip(position);
            found.all_held = false;
            break;
        }
        Ok(Some(found))
    })
}
