//! Rescues runs whose connection is gone. A backend that ends leaves word of itself; of which queues its runs are it does not
//! say, so any claim looks for them.

use crate::job::lane::gates_of_claim;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem::{self, Gone, LOCKED_AGAIN, Locked, Owner};
use crate::sync::rebuild::when_ready;
use crate::transaction::{self, pending};
use crate::upkeep::rescue::{BATCH, fail_locked, found};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;

static ORPHANS: Statement = statement!(
    "find_orphans",
    [
        INT8OID,
        INT4ARRAYOID,
        TIMESTAMPTZARRAYOID,
        INT8OID,
        INT8ARRAYOID
    ]
);
static GONE_OWNERS: Statement = statement!("gone_owners", [INT8OID]);

/// Backends that are looked at together, if all have to be.
const OWNERS_AT_ONCE: i64 = 64;

/// Which of the runs found may be rescued.
pub struct Scope {
    most: i64,
    /// Gates of queues; none: those of all.
    queues: Option<Vec<i64>>,
}

impl Scope {
    /// Rescued runs stay locked until the transaction ends. So a claim inside a transaction block, which may stay
    /// open, rescues no more runs than it came for, and only those of its own queues.
    pub fn of_claim(queues: &[u64], most: usize) -> Self {
        if transaction::may_stay_open() {
            Self {
                most: i64::try_from(most).unwrap_or(BATCH).min(BATCH),
                queues: gates_of_claim(queues),
            }
        } else {
            Self::all(BATCH)
        }
    }

    pub fn all(most: i64) -> Self {
        Self { most, queues: None }
    }

    /// How many runs to look at: some of other queues may come before.
    fn batch(&self) -> i64 {
        match self.queues {
            Some(_) => BATCH,
            None => self.most,
        }
    }
}

/// Asked by every claim: the backends whose runs no other claim is rescuing.
pub fn duty(memory: &mut Locked) -> Option<Gone> {
    let is_due = memory.state.gone.next() <= server::now();
    is_due.then(|| memory.state.gone.take())
}

/// Rescues what the scope allows; returns how many runs.
pub fn perform(spi: &Spi, job_table: pg_sys::Oid, gone: Gone, scope: &Scope) -> Result<usize> {
    pending::note(job_table, |level| level.gone.absorb(gone.clone()));
    rescue(spi, job_table, gone, scope)
}

/// Rescues up to `most` runs without waiting for their turn.
pub fn on_demand(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let mut rescued = 0;
    while rescued < most {
        let left = i64::try_from(most - rescued).unwrap_or(BATCH);
        let gone = when_ready(spi, job_table, |memory| Ok(memory.state.gone.take()))?;
        let now = perform(spi, job_table, gone, &Scope::all(left.min(BATCH)))?;
        if now == 0 {
            break;
        }
        rescued += now;
        pgrx::check_for_interrupts!();
    }
    Ok(rescued)
}

fn rescue(spi: &Spi, job_table: pg_sys::Oid, mut gone: Gone, scope: &Scope) -> Result<usize> {
    let mut left = Gone::default();
    if gone.look_at_all {
        server::forget_list_of_backends();
        let rows = spi.run(&GONE_OWNERS, &[datum(OWNERS_AT_ONCE)])?;
        left.look_at_all = i64::try_from(rows.len()).is_ok_and(|count| count == OWNERS_AT_ONCE);
        for row in 0..rows.len() {
            gone.owners.push(owner(&rows, row, 1)?);
        }
    }
    if gone.owners.is_empty() {
        return Ok(0);
    }
    let pids: Vec<i32> = gone.owners.iter().map(|owner| owner.pid).collect();
    let starts = gone.owners.iter().map(|owner| owner.started_at);
    let starts: Vec<TimestampWithTimeZone> =
        starts.filter_map(|time| time.try_into().ok()).collect();
    let rows = spi.run(
        &ORPHANS,
        &[
            datum(scope.batch()),
            datum(pids),
            datum(starts),
            datum(scope.most),
            scope.queues.clone().and_then(datum),
        ],
    )?;
    let mut runs = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        let run = found(&rows, row, 5)?;
        if !run.locked {
            left.owners.push(owner(&rows, row, 3)?);
        }
        runs.push(run);
    }
    let rescued = fail_locked(spi, &runs, "connection lost")?;
    let is_all = i64::try_from(rows.len()).is_ok_and(|count| count < scope.batch());
    let mut next = i64::MIN;
    if !is_all {
        left.owners = gone.owners;
    } else if !left.look_at_all {
        next = server::now().saturating_add(LOCKED_AGAIN);
    }
    shmem::with(job_table, |memory| {
        memory.state.gone.put_back(&left, next);
        Ok(())
    })?;
    Ok(rescued)
}

fn owner(rows: &Rows, row: usize, column: i32) -> Result<Owner> {
    Ok(Owner {
        pid: rows.required(row, column)?,
        started_at: rows.required(row, column + 1)?,
    })
}
