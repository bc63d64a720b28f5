//! The rows of a claim: waiting jobs of a lane are found by position, locked and set running.

use crate::job::later::Later;
use crate::job::row::column;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::tuple::RawRow;
use crate::runs::claimer::Claimer;
use crate::runs::lane_rows::LaneRows;
use crate::runs::lease;
use crate::table::{self, Jobs, Operation, figures, places};
use crate::transaction::pending::{self, Work};
use pgrx::datum::Interval;
use pgrx::pg_sys::{self, Datum};
use std::rc::Rc;
use turnstile_scheduler::figures::State;
use turnstile_scheduler::waiting::NEVER;
use turnstile_scheduler::{LeaseView, Picked, RunId};

static FIND_WAITING: Statement = statement!(
    "find_waiting",
    [INT8OID, INT8OID, INT8OID, INT8OID, INT4OID, INT8ARRAYOID]
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
        INTERVALOID
    ]
);

/// The most positions that a look ahead returns.
pub const AHEAD: usize = 4;
/// The most batches that one look at a lane opens. Very many may be due at once.
const MOST_OPENINGS: usize = 64;
/// The column behind those of `claimed_job`.
pub const POSITION_OF_STARTED: i32 = 17;

/// The columns of a job that a claim changes, but for those of later releases.
const CHANGED: [usize; 7] = [
    column::STATE,
    column::ATTEMPT,
    column::WORKER,
    column::OWNER_PID,
    column::OWNER_STARTED_AT,
    column::CLAIMED_AT,
    column::LEASE_EXPIRES_AT,
];

/// What all jobs of one claim get.
struct Run {
    worker: Option<Datum>,
    owner_pid: Option<Datum>,
    owner_started_at: Option<Datum>,
    claimed_at: i64,
    lease_expires_at: Option<i64>,
    /// What the claim asked for.
    lease: Option<Datum>,
}

/// What a claim has started of a lane.
#[derive(Default)]
pub struct Started {
    /// The positions of the jobs, in order.
    pub positions: Vec<i64>,
    runs: Vec<RunId>,
    /// The first positions that were available, including those of locked jobs; none where they are not known.
    pub seen: Vec<i64>,
    /// There were no more than those.
    pub seen_all: bool,
    /// Jobs whose turn opens their batch: they do not start.
    pub openings: Vec<i64>,
}

/// What a claim wants of a lane.
pub struct Wanted<'a> {
    pub picked: &'a Picked,
    pub most: usize,
    /// Positions that this transaction made available itself; they are not committed, so not eligible.
    pub own: &'a [i64],
    pub claimer: &'a Claimer<'a>,
    /// Where the lane goes on behind the last job that is wanted.
    pub with_next: bool,
}

/// Sets jobs of the lane running and passes them on in order.
pub fn start_jobs(spi: &Spi, wanted: &Wanted, output: &mut Output) -> Result<Started> {
    let lease = lease_of(wanted.picked, wanted.claimer)?;
    let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
    match jobs.is_direct() {
        true => start_directly(&jobs, wanted, lease, output),
        false => start_by_statement(spi, jobs.table, wanted, lease, output),
    }
}

fn start_directly(
    jobs: &Rc<Jobs>,
    wanted: &Wanted,
    lease: Interval,
    output: &mut Output,
) -> Result<Started> {
    let &Wanted {
        picked, most, own, ..
    } = wanted;
    let (job_table, later) = (jobs.table, jobs.later);
    let end = picked.bound.unwrap_or(i64::MAX);
    table::command(|command| {
        // Not before the snapshot was taken: all jobs in it were created earlier.
        let run = Run::from_now_on(picked, wanted.claimer, lease);
        let mut jobs = command.open(jobs, Operation::Update(&CHANGED));
        let mut started = Started {
            positions: Vec::with_capacity(most),
            runs: Vec::with_capacity(most),
            seen: Vec::with_capacity(most + AHEAD),
            seen_all: false,
            openings: Vec::new(),
        };
        let mut found = LaneRows::of(&jobs, picked, most, own)?;
        let mut is_past = false;
        while started.positions.len() < most && started.openings.len() < most_openings(picked) {
            let Some(row) = found.next() else {
                started.seen_all = true;
                break;
            };
            let position = row.int8(column::POSITION);
            started.seen.extend(position);
            is_past = position.is_some_and(|at| at >= end);
            if is_past {
                break;
            }
            if !row.waits_in(&picked.spec, picked.head, end) {
                continue;
            }
            if row.opens_batch() {
                started.openings.extend(row.int8(column::ID));
                continue;
            }
            let changes = run.changes(&row, &later);
            if jobs.start(row, &changes)? {
                let job = jobs.written();
                places::note(job.int8(column::ID), job.place());
                let before = (State::Available, job.int8(column::RUN_AT));
                figures::note_start(job_table, &picked.spec, before, &job);
                output.push(claimed(&job, &later).into_iter());
                started.positions.extend(job.int8(column::POSITION));
                started.runs.extend(job.run().map(|(run, _)| run));
            }
        }
        if wanted.with_next && started.positions.len() == most && !is_past {
            started.see_next(&mut found);
        }
        run.note_leases(job_table, picked.spec.queue, &mut started);
        Ok(started)
    })
}

impl Started {
    /// One job more is enough, unless another transaction has it: that may be a claim.
    fn see_next(&mut self, found: &mut LaneRows) {
        for _ in 0..AHEAD {
            let Some(row) = found.next() else {
                self.seen_all = true;
                return;
            };
            self.seen.extend(row.int8(column::POSITION));
            if !row.is_held() {
                return;
            }
        }
    }

    /// Whether these rows say where the lane goes on. What was not to be had may be gone since they were read, and is
    /// not to be waited for then; a batch that opens leaves the lane; and a statement that skips locked rows has not
    /// seen them, although the claim that locked them may be undone.
    pub fn shows_next(&self) -> bool {
        match self.positions.is_empty() {
            true => self.seen.is_empty() && self.seen_all,
            false => !self.seen.is_empty() && self.openings.is_empty(),
        }
    }
}

/// In a session the turn of one job has come.
fn most_openings(picked: &Picked) -> usize {
    match picked.spec.session {
        0 => MOST_OPENINGS,
        _ => 1,
    }
}

fn start_by_statement(
    spi: &Spi,
    job_table: pg_sys::Oid,
    wanted: &Wanted,
    lease: Interval,
    output: &mut Output,
) -> Result<Started> {
    let mut started = Started::default();
    let mut from = wanted.picked.head;
    loop {
        let left = wanted.most - started.positions.len();
        pending::begin(job_table, Work::Claim(Vec::new()));
        let found = find_waiting(spi, wanted, from, left)?;
        let run = Run::from_now_on(wanted.picked, wanted.claimer, lease);
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
            None => return Ok(started),
        }
    }
}

/// A job that was locked to be started.
struct Found {
    id: i64,
    next_attempt: i32,
    position: i64,
    opens_batch: bool,
}

fn find_waiting(spi: &Spi, wanted: &Wanted, from: i64, most: usize) -> Result<Vec<Found>> {
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
        ],
    )?;
    let found = |row| {
        Ok(Found {
            id: rows.required(row, 1)?,
            next_attempt: rows.required(row, 2)?,
            position: rows.required(row, 3)?,
            opens_batch: rows.required(row, 4)?,
        })
    };
    (0..rows.len()).map(found).collect()
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
    let runs = found.iter().map(|job| (job.id, job.next_attempt));
    pending::with(|pending| pending.expect_runs(runs));
    let ids: Vec<i64> = found.iter().map(|job| job.id).collect();
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
        ],
    )?;
    for row in 0..rows.len() {
        output.push((1..POSITION_OF_STARTED).map(|column| rows.get(row, column)));
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

fn lease_of(picked: &Picked, claimer: &Claimer) -> Result<Interval> {
    match claimer.lease {
        Some(lease) => Ok(lease),
        None => lease::of_queue(picked),
    }
}

impl Run {
    fn from_now_on(picked: &Picked, claimer: &Claimer, lease: Interval) -> Self {
        let now = server::now();
        Self {
            worker: claimer.worker,
            owner_pid: claimer.owner.and_then(|owner| datum(owner.pid)),
            owner_started_at: claimer.owner.and_then(|owner| datum(owner.started_at)),
            // Where a rate counts starts, windows of claimed_at are exact.
            claimed_at: if picked.is_metered { picked.now } else { now },
            lease_expires_at: server::later(now, lease),
            lease: claimer.lease.and_then(datum),
        }
    }

    /// The scheduler learns of starts by their reservations, and of the leases here.
    fn note_leases(&self, job_table: pg_sys::Oid, queue: u64, started: &mut Started) {
        if started.runs.is_empty() {
            return;
        }
        let time = self.lease_expires_at.unwrap_or(NEVER);
        let runs = started.runs.drain(..);
        let leases = runs.map(|run| LeaseView { queue, run, time });
        pending::note(job_table, |level| {
            leases.for_each(|lease| level.leases.begin(lease))
        });
    }

    /// The new values of what a claim changes.
    fn changes(&self, job: &RawRow, later: &Later) -> [(usize, Option<Datum>); CHANGED.len() + 1] {
        let attempt = job.int4(column::ATTEMPT).unwrap_or(0);
        let [
            state,
            attempts,
            worker,
            owner_pid,
            owner_started_at,
            claimed_at,
            lease_expires_at,
        ] = CHANGED;
        [
            (state, datum("running")),
            (attempts, datum(attempt.saturating_add(1))),
            (worker, self.worker),
            (owner_pid, self.owner_pid),
            (owner_started_at, self.owner_started_at),
            (claimed_at, datum(self.claimed_at)),
            (lease_expires_at, self.lease_expires_at.and_then(datum)),
            (later.lease, self.lease),
        ]
    }
}

/// The columns of `claimed_job`.
fn claimed(job: &RawRow, later: &Later) -> [Option<Datum>; 16] {
    let attempts = [column::MAX_ATTEMPTS, column::UNCOUNTED].map(|at| job.int4(at).unwrap_or(0));
    let [max_attempts, uncounted] = attempts;
    let last = max_attempts.saturating_add(uncounted);
    let attempt = job.int4(column::ATTEMPT).unwrap_or(0);
    // It is written when the run is put back: most jobs have one run.
    let first_started_at = match attempt {
        1 => job.raw(column::CLAIMED_AT),
        _ => job.raw(later.first_started_at),
    };
    let left = i64::from(max_attempts) + i64::from(uncounted) - i64::from(attempt);
    [
        job.raw(column::ID),
        job.raw(column::ATTEMPT),
        job.raw(column::QUEUE),
        job.raw(column::KIND),
        job.raw(column::PAYLOAD),
        job.raw(column::PRIORITY),
        job.raw(column::TENANT),
        job.raw(column::ACCOUNT),
        job.raw(column::SESSION),
        datum(last),
        job.raw(column::LEASE_EXPIRES_AT),
        job.raw(column::CREATED_AT),
        job.raw(column::METADATA),
        job.raw(later.children),
        datum(i32::try_from(left.max(0)).unwrap_or(i32::MAX)),
        first_started_at,
    ]
}
