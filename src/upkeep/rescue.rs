//! Rescues abandoned runs of a queue: their lease has ended. The claims from the queue fail them, so that they are retried
//! or discarded like any other.

use crate::job::queues;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server::{self, SECOND};
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::runs::finish::{Failing, fail_runs};
use crate::shmem::{self, Search, Straggler};
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;
use turnstile_scheduler::waiting::NEVER;

static EXPIRED: Statement = statement!(
    "find_expired",
    [
        INT8OID,
        TEXTOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        INT8ARRAYOID
    ]
);
static NEXT_LEASE: Statement = statement!("next_lease", [TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID]);

/// Runs that one search looks at: a claim must stay short when very many expire at once.
pub const BATCH: i64 = 200;
/// Runs that another transaction has locked are looked for again after this time.
pub const LOCKED_AGAIN: i64 = SECOND / 10;
/// How far a search of a claim looks for the next lease. Each row of a run that has ended since is walked once, but a
/// lease may be long, and they may be very many: so they are walked in parts.
const LOOK_AHEAD: i64 = 10 * SECOND;
/// Where so many queues have leases, searches look twice as far: each of them is searched that often.
const QUEUES: i64 = 1_000;

/// How far a search looks for the next lease.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    Near,
    /// To the end: for a process that keeps no client waiting.
    Far,
}

/// Rescues up to `batch` runs; returns how many.
pub fn perform(
    spi: &Spi,
    job_table: pg_sys::Oid,
    search: &Search,
    batch: i64,
    ahead: Ahead,
) -> Result<usize> {
    pending::begin(job_table, Work::Search(search.clone()));
    let outcome = match queues::name(spi, search.queue)? {
        Some(name) => rescue(spi, job_table, &name, search, batch, ahead)?,
        None => Outcome::nothing(search.queue),
    };
    pending::end();
    shmem::with(job_table, |memory| {
        let mut left = outcome.left.clone();
        let mut next = outcome.next;
        // Where nothing runs there is no lease. Runs that are not committed yet will note theirs.
        if outcome.found_no_next
            && left.stragglers.is_empty()
            && memory.scheduler.runs_nothing(left.queue)?
        {
            (left.floor, next) = (NEVER, NEVER);
        }
        memory.put_back_search(&left, next)
    })?;
    Ok(outcome.rescued)
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

struct Outcome {
    rescued: usize,
    /// What the search leaves to the next one, and when that is due.
    left: Search,
    next: i64,
    found_no_next: bool,
}

impl Outcome {
    fn nothing(queue: u64) -> Self {
        Self {
            rescued: 0,
            left: Search {
                queue,
                floor: NEVER,
                stragglers: Vec::new(),
            },
            next: NEVER,
            found_no_next: true,
        }
    }
}

fn rescue(
    spi: &Spi,
    job_table: pg_sys::Oid,
    name: &str,
    search: &Search,
    batch: i64,
    ahead: Ahead,
) -> Result<Outcome> {
    let (now, queue) = (server::now(), search.queue);
    let jobs: Vec<i64> = search.stragglers.iter().map(|run| run.job).collect();
    let rows = spi.run(
        &EXPIRED,
        &[
            datum(batch),
            datum(name),
            datum(search.floor),
            datum(now),
            datum(jobs),
        ],
    )?;
    let mut runs = Vec::with_capacity(rows.len());
    let mut stragglers = Vec::new();
    let mut last = search.floor;
    for row in 0..rows.len() {
        let run = found(&rows, row, 4)?;
        let lease: i64 = rows.required(row, 3)?;
        last = last.max(lease);
        if !run.locked {
            let job = run.id;
            stragglers.push(Straggler { queue, job, lease });
        }
        runs.push(run);
    }
    let rescued = fail_locked(spi, &runs, "lease expired")?;
    let is_all = i64::try_from(rows.len()).is_ok_and(|count| count < batch);
    let found = match is_all {
        true => next_lease(spi, job_table, name, now, ahead)?,
        false => (last, true),
    };
    let (floor, found_next) = found;
    let mut next = if is_all { floor } else { now };
    if !stragglers.is_empty() {
        next = next.min(now.saturating_add(LOCKED_AGAIN));
    }
    let left = Search {
        queue,
        floor,
        stragglers,
    };
    Ok(Outcome {
        rescued,
        left,
        next,
        found_no_next: !found_next,
    })
}

/// No lease ends before this, and whether one was found.
fn next_lease(
    spi: &Spi,
    job_table: pg_sys::Oid,
    name: &str,
    now: i64,
    ahead: Ahead,
) -> Result<(i64, bool)> {
    let end = match ahead {
        Ahead::Far => NEVER,
        Ahead::Near => {
            let queues = shmem::with(job_table, |memory| Ok(memory.scheduler.due_count()))?;
            let queues = i64::try_from(queues).unwrap_or(i64::MAX);
            now.saturating_add(LOOK_AHEAD.saturating_mul(1 + queues / QUEUES))
        }
    };
    let rows = spi.run(&NEXT_LEASE, &[datum(name), datum(now), datum(end)])?;
    let found = rows.value::<i64>(0, 1);
    Ok((found.unwrap_or(end), found.is_some()))
}
