//! Rescues abandoned runs: their lease has ended, or the connection that they were bound to is gone. The claims of a
//! live queue fail them, so that they are retried or discarded like any other.

use crate::job::lane::gates_of_claim;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server::{self, SECOND};
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::runs::finish::{Failing, fail_runs};
use crate::shmem::{self, Gone, Locked, Owner, Search, Straggler};
use crate::sync::rebuild::when_ready;
use crate::transaction;
use crate::transaction::pending::{self, Work};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys;

static EXPIRED: Statement = statement!(
    "find_expired",
    [
        INT8OID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        INT8ARRAYOID,
        INT8OID,
        INT8ARRAYOID
    ]
);
static NEXT_LEASE: Statement = statement!("next_lease", [TIMESTAMPTZOID, TIMESTAMPTZOID]);
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

/// Runs that one search looks at: a claim must stay short when very many expire at once.
const BATCH: i64 = 200;
/// Runs that another transaction has locked are looked for again after this time.
const LOCKED_AGAIN: i64 = SECOND / 10;
/// How far a search looks for the next lease. Each row of a run that has ended since is walked once, but a
/// lease may be long, and they may be very many: so they are walked in parts.
const LOOK_AHEAD: i64 = 10 * SECOND;
/// Backends that are looked at together, if all have to be.
const OWNERS_AT_ONCE: i64 = 64;

/// What a claim is to do, taken from memory: no other claim does it meanwhile.
pub struct Duty {
    search: Option<Search>,
    gone: Option<Gone>,
}

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

    fn all(most: i64) -> Self {
        Self { most, queues: None }
    }

    fn queues(&self) -> Option<pg_sys::Datum> {
        self.queues.clone().and_then(datum)
    }

    /// How many runs to look at: some of other queues may come before.
    fn batch(&self) -> i64 {
        match self.queues {
            Some(_) => BATCH,
            None => self.most,
        }
    }
}

/// Asked by every claim: whether there are runs to rescue that no other claim is rescuing.
pub fn duty(memory: &mut Locked) -> Option<Duty> {
    let now = server::now();
    let search = memory.state.leases.next <= now;
    let gone = memory.state.gone.next <= now;
    (search || gone).then(|| take(memory, search, gone))
}

fn take(memory: &mut Locked, search: bool, gone: bool) -> Duty {
    Duty {
        search: search.then(|| memory.state.leases.take()),
        gone: gone.then(|| memory.state.gone.take()),
    }
}

/// Rescues what the scope allows; returns how many runs.
pub fn perform(spi: &Spi, job_table: pg_sys::Oid, duty: Duty, scope: &Scope) -> Result<usize> {
    pending::with(|pending| pending.job_table = job_table);
    if let Some(search) = &duty.search {
        pending::begin(Work::Search(search.clone()));
    }
    if let Some(gone) = &duty.gone {
        pending::at_current_level(|level| level.gone.absorb(gone.clone()));
    }
    let mut rescued = 0;
    if let Some(search) = &duty.search {
        rescued += rescue_expired(spi, job_table, search, scope)?;
    }
    if let Some(gone) = duty.gone {
        rescued += rescue_orphans(spi, job_table, gone, scope)?;
    }
    Ok(rescued)
}

/// Rescues up to `most` runs without waiting for their turn.
pub fn on_demand(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let mut rescued = 0;
    while rescued < most {
        let left = i64::try_from(most - rescued).unwrap_or(BATCH);
        let duty = when_ready(spi, job_table, |memory| Ok(take(memory, true, true)))?;
        let now = perform(spi, job_table, duty, &Scope::all(left.min(BATCH)))?;
        if now == 0 {
            break;
        }
        rescued += now;
        pgrx::check_for_interrupts!();
    }
    Ok(rescued)
}

/// A run that a search has found.
struct Found {
    id: i64,
    attempt: i32,
    locked: bool,
}

fn found(rows: &Rows, row: usize, locked: i32) -> Result<Found> {
    Ok(Found {
        id: rows.required(row, 1)?,
        attempt: rows.required(row, 2)?,
        locked: rows.required(row, locked)?,
    })
}

fn fail_locked(spi: &Spi, found: &[Found], error: &str) -> Result<usize> {
    let locked = || found.iter().filter(|run| run.locked);
    let ids: Vec<i64> = locked().map(|run| run.id).collect();
    let attempts: Vec<i32> = locked().map(|run| run.attempt).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let failing = Failing {
        error: datum(error),
        ..Failing::default()
    };
    Ok(fail_runs(spi, &ids, &attempts, &failing)?.len())
}

fn rescue_expired(
    spi: &Spi,
    job_table: pg_sys::Oid,
    search: &Search,
    scope: &Scope,
) -> Result<usize> {
    let now = server::now();
    let jobs: Vec<i64> = search.stragglers.iter().map(|run| run.job).collect();
    let rows = spi.run(
        &EXPIRED,
        &[
            datum(scope.batch()),
            datum(search.floor),
            datum(now),
            datum(jobs),
            datum(scope.most),
            scope.queues(),
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
            stragglers.push(Straggler { job, lease });
        }
        runs.push(run);
    }
    let rescued = fail_locked(spi, &runs, "lease expired")?;
    let is_all = i64::try_from(rows.len()).is_ok_and(|count| count < scope.batch());
    let (floor, mut next) = match is_all {
        true => {
            let ahead = now.saturating_add(LOOK_AHEAD);
            let next = spi.run(&NEXT_LEASE, &[datum(now), datum(ahead)])?;
            let next = next.value(0, 1).unwrap_or(ahead);
            (next, next)
        }
        false => (last, now),
    };
    if !stragglers.is_empty() {
        next = next.min(now.saturating_add(LOCKED_AGAIN));
    }
    pending::end();
    let left = Search { floor, stragglers };
    shmem::with(job_table, |memory| {
        memory.state.leases.put_back(&left, next);
        memory.state.leases.end_search();
        Ok(())
    })?;
    Ok(rescued)
}

fn rescue_orphans(
    spi: &Spi,
    job_table: pg_sys::Oid,
    mut gone: Gone,
    scope: &Scope,
) -> Result<usize> {
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
            scope.queues(),
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
