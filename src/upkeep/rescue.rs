//! Rescues abandoned runs of a queue: their lease has ended. The claims from the queue fail them, so that they are retried
//! or discarded like any other.

use crate::job::lane::queue_key;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::runs::finish::{Failing, fail_runs};
use crate::shmem::{self, LOCKED_AGAIN, Search};
use crate::transaction::pending;
use pgrx::pg_sys;
use std::collections::HashMap;
use turnstile_scheduler::RunId;
use turnstile_scheduler::times::NEVER;

static EXPIRED: Statement =
    statement!("find_expired", [INT8ARRAYOID, INT4ARRAYOID, TIMESTAMPTZOID]);

/// Runs that one search looks at: a claim must stay short when very many expire at once.
pub const BATCH: i64 = 200;

/// What has become of the runs that a search has taken.
pub struct Searched {
    pub rescued: usize,
    /// They had ended before.
    pub ended: usize,
}

/// Rescues the runs of a search whose lease has ended.
pub fn perform(spi: &Spi, job_table: pg_sys::Oid, search: &Search) -> Result<Searched> {
    let now = server::now();
    let rows = expired(spi, search, now)?;
    let mut left: HashMap<RunId, Option<(u64, i64)>> =
        search.runs.iter().map(|&run| (run, None)).collect();
    let mut runs = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let run = found(&rows, row, 5)?;
        let lease = rows.value(row, 4).unwrap_or(NEVER);
        let due = match lease <= now {
            true => server::now().saturating_add(LOCKED_AGAIN),
            false => lease,
        };
        let key = RunId {
            job: run.id,
            attempt: run.attempt,
        };
        match run.locked {
            // It is forgotten by the commit.
            true => left.remove(&key),
            false => left.insert(key, Some((queue_key(rows.required(row, 3)?), due))),
        };
        runs.push(run);
    }
    shmem::with(job_table, |memory| {
        for (&run, &found) in &left {
            memory.scheduler.settle_lease(run, search.again, found)?;
        }
        Ok(())
    })?;
    Ok(Searched {
        ended: left.values().filter(|found| found.is_none()).count(),
        rescued: fail_locked(spi, &runs, "lease expired")?,
    })
}

fn expired<'s>(spi: &'s Spi, search: &Search, now: i64) -> Result<Rows<'s>> {
    let jobs: Vec<i64> = search.runs.iter().map(|run| run.job).collect();
    let attempts: Vec<i32> = search.runs.iter().map(|run| run.attempt).collect();
    spi.run(&EXPIRED, &[datum(jobs), datum(attempts), datum(now)])
}

/// A run that a search has found.
pub struct Found {
    pub id: i64,
    pub attempt: i32,
    pub locked: bool,
}

pub fn found(rows: &Rows, row: usize, locked: i32) -> Result<Found> {
    Ok(Found {
        id: rows.required(row, 1)?,
        attempt: rows.required(row, 2)?,
        locked: rows.required(row, locked)?,
    })
}

pub fn fail_locked(spi: &Spi, found: &[Found], error: &str) -> Result<usize> {
    let locked = || found.iter().filter(|run| run.locked);
    let ids: Vec<_> = locked().map(|run| Some(run.id)).collect();
    let attempts: Vec<i32> = locked().map(|run| run.attempt).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let failing = Failing {
        error: datum(error),
        is_rescue: true,
        ..Failing::default()
    };
    pending::must_commit_before_sleep();
    Ok(fail_runs(spi, &ids, &attempts, &failing)?.len())
}
