//! Starts the jobs of a claim by statements, where changing them directly would leave out what users have added to the table.

use crate::job::claim_epoch::{self, Claim};
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::runs::late_children;
use crate::runs::run::{Run, Started, TRIED_BY_STATEMENT, Wanted, most_openings, start_time};
use crate::shmem::QueueSettings;
use crate::transaction::claim::refuse_loss;
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;
use turnstile_scheduler::RunId;

static FIND_WAITING: Statement = statement!(
    "find_waiting",
    [
        INT8OID,
        INT8OID,
        INT8OID,
        INT8OID,
        INT4OID,
        INT8ARRAYOID,
        TIMESTAMPTZOID
    ]
);
pub static START_JOBS: Statement = statement!(
    "start_jobs",
    [
        INT8ARRAYOID,
        TEXTOID,
        INT4OID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        TIMESTAMPTZOID,
        INTERVALOID,
        INT4ARRAYOID,
        INT4OID
    ]
);

/// The column behind those of `claimed_job`.
const POSITION_OF_STARTED: i32 = 17;
/// Whether the numbers of its children are to be counted anew, and where they stand.
const COUNTS_ANEW: i32 = 18;
const CHILDREN: i32 = 14;

pub fn start(
    spi: &Spi,
    job_table: pg_sys::Oid,
    wanted: &Wanted,
    settings: &QueueSettings,
    output: &mut Output,
) -> Result<Started> {
    // Who has triggers there may log what is not to be lost.
    refuse_loss();
    let mut started = Started::default();
    let mut from = wanted.picked.head;
    loop {
        let left = wanted.most - started.positions.len();
        pending::begin(job_table, Work::Claim(Vec::new()));
        let found = find_waiting(spi, wanted, (from, left), settings)?;
        let run = Run::from_now_on(wanted.picked, wanted.claimer, settings);
        let (openings, jobs): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|job| job.opens_batch);
        started.openings.extend(openings.iter().map(|job| job.id));
        start_found(spi, &jobs, &run, &mut started, output)?;
        run.note_leases(job_table, wanted.picked.spec.queue, &mut started);
        pending::end();
        // A trigger may have kept some jobs from being started; other jobs take their place.
        let positions = jobs.iter().chain(&openings).map(|job| job.position);
        match positions
            .max()
            .filter(|_| started.positions.len() < wanted.most)
            .filter(|_| started.openings.len() < most_openings(wanted.picked))
        {
            Some(last) => from = last.saturating_add(1),
            None => {
                started.tried = TRIED_BY_STATEMENT;
                return Ok(started);
            }
        }
    }
}

/// A job that was locked to be started.
struct Found {
    id: i64,
    attempts: i32,
    position: i64,
    opens_batch: bool,
    claim: Claim,
}

impl Found {
    fn next_attempt(&self) -> i32 {
        let skipped = self.attempts.saturating_add(self.claim.skipped);
        skipped.saturating_add(1)
    }
}

fn find_waiting(
    spi: &Spi,
    wanted: &Wanted,
    (from, most): (i64, usize),
    settings: &QueueSettings,
) -> Result<Vec<Found>> {
    let picked = wanted.picked;
    let rows = spi.run(
        &FIND_WAITING,
        &[
            datum(picked.spec.group().cast_signed()),
            datum(picked.spec.lane.cast_signed()),
            datum(from),
            datum(picked.bound.unwrap_or(i64::MAX)),
            datum(i32::try_from(most).unwrap_or(i32::MAX)),
            datum(wanted.own),
            datum(start_time(picked, i64::MAX)),
        ],
    )?;
    let found = |row| {
        let (attempts, known) = (rows.required(row, 2)?, rows.value(row, 5));
        Ok(Found {
            id: rows.required(row, 1)?,
            attempts,
            position: rows.required(row, 3)?,
            opens_batch: rows.required(row, 4)?,
            claim: claim_epoch::of_claim(attempts, known, settings.durable_claims)?,
        })
    };
    (0..rows.len()).map(found).collect()
}

/// Passes on a job that [`START_JOBS`] has started.
pub fn push_started(spi: &Spi, rows: &Rows, row: usize, output: &mut Output) -> Result<()> {
    let counted = match rows.value(row, COUNTS_ANEW) {
        Some(true) => Some(late_children::count(spi, rows.required(row, 1)?)?),
        _ => None,
    };
    output.push(
        (1..POSITION_OF_STARTED).map(|column| match (column, &counted) {
            (CHILDREN, Some(counted)) => counted.numbers(),
            _ => rows.get(row, column),
        }),
    );
    Ok(())
}

fn start_found(
    spi: &Spi,
    found: &[Found],
    run: &Run,
    started: &mut Started,
    output: &mut Output,
) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let runs = found.iter().map(|job| (job.id, job.next_attempt()));
    pending::with(|pending| pending.expect_runs(runs));
    let ids: Vec<i64> = found.iter().map(|job| job.id).collect();
    let skipped: Vec<i32> = found.iter().map(|job| job.claim.skipped).collect();
    // They are of one queue.
    let epoch = found.first().and_then(|job| job.claim.epoch);
    let rows = spi.run(
        &START_JOBS,
        &[
            datum(ids),
            run.worker,
            run.owner_pid,
            run.owner_started_at,
            datum(run.claimed_at),
            run.lease_expires_at.and_then(datum),
            run.lease,
            datum(skipped),
            epoch.and_then(datum),
        ],
    )?;
    for row in 0..rows.len() {
        push_started(spi, &rows, row, output)?;
        started
            .positions
            .push(rows.required(row, POSITION_OF_STARTED)?);
        started.runs.push(RunId {
            job: rows.required(row, 1)?,
            attempt: rows.required(row, 2)?,
        });
    }
    Ok(())
}
