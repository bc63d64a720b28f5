//! The rows of a claim: what waits in a lane is found by position, locked and set running.

use crate::api::claimer::Claimer;
use crate::api::output::Output;
use crate::call::datum;
use crate::error::Result;
use crate::plan::Spi;
use crate::row::column;
use crate::table::{self, Attempt, Lock, Operation, Search, Table, Where};
use crate::tuple::RawRow;
use crate::{catalog, lease, pending, server};
use pgrx::pg_sys::{self, Datum};
use turnstile_scheduler::Picked;

/// The index on (lane, position) of what is available.
const CLAIM_INDEX: &std::ffi::CStr = c"job_claim_idx";
const LANE: i16 = 1;
const POSITION: i16 = 2;
/// A search reads all that fits of a page of the index at once. The next job is seldom farther than this behind the
/// head, so it is looked for there first.
const NEAR: i64 = 16;
/// Positions that a look ahead gives at most.
const AHEAD: usize = 4;

/// What a claim changes of a job.
const CHANGED: [usize; 7] = [
    column::STATE,
    column::ATTEMPT,
    column::WORKER,
    column::OWNER_PID,
    column::OWNER_STARTED_AT,
    column::CLAIMED_AT,
    column::LEASE_EXPIRES_AT,
];

/// What all jobs of one claim are given.
struct Run {
    worker: Option<Datum>,
    owner_pid: Option<Datum>,
    owner_started_at: Option<Datum>,
    claimed_at: i64,
    lease_expires_at: Option<i64>,
}

/// What a claim has started of a lane.
#[derive(Default)]
pub struct Started {
    /// The positions of the jobs, in order.
    pub positions: Vec<i64>,
    /// The first positions that were available, those that somebody has locked as well.
    pub seen: Vec<i64>,
}

/// Sets up to `most` jobs of the lane running and passes them on in order. `own`: what this
/// transaction made available itself; it is not committed, so not eligible.
pub fn start_jobs(
    spi: &Spi,
    job_table: pg_sys::Oid,
    picked: &Picked,
    most: usize,
    own: &[i64],
    claimer: &Claimer,
    output: &mut Output,
) -> Result<Started> {
    let lease = lease_of(spi, picked, claimer)?;
    let end = picked.bound.unwrap_or(i64::MAX);
    let reach = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(NEAR);
    let near = picked.head.saturating_add(reach).min(end);
    pending::with(|pending| pending.claiming = Some(picked.spec.lane));
    let started = table::command(|command| {
        // Not before the snapshot was taken: no job of it was made later.
        let run = Run::from_now_on(picked, claimer, lease);
        let mut jobs = command.open(job_table, Operation::Update(&CHANGED));
        let mut started = Vec::with_capacity(most);
        let mut seen = Vec::with_capacity(most);
        let mut found = waiting(&jobs, picked, picked.head, near)?;
        let mut goes_on = near < end;
        while started.len() < most {
            let Some(row) = next_eligible(&mut found, own) else {
                if !std::mem::take(&mut goes_on) {
                    break;
                }
                found.restart(&between(picked, near, end));
                continue;
            };
            seen.extend(row.int8(column::POSITION));
            let row = row.up_to(column::COUNT);
            if !row.waits_in(picked.spec.lane, picked.head, end) {
                continue;
            }
            let has_started = match jobs.update_at_once(&row, &run.changes(&row))? {
                Attempt::Made => true,
                Attempt::Late => false,
                Attempt::Open => {
                    let job = jobs.lock(row.place(), Lock::ToUpdateUnlessLocked)?;
                    let job = job.filter(|job| job.waits_in(picked.spec.lane, picked.head, end));
                    let changes = job.map(|job| run.changes(&job));
                    match &changes {
                        Some(changes) => jobs.update(changes)?,
                        None => false,
                    }
                }
            };
            if has_started {
                let job = jobs.written();
                output.push(claimed(&job).into_iter());
                started.extend(job.int8(column::POSITION));
            }
        }
        // The trigger passes over claimed rows.
        if !started.is_empty() && run.lease_expires_at.is_some() {
            pending::at_current_level(|level| level.note_lease(run.lease_expires_at));
        }
        Ok(Started {
            positions: started,
            seen,
        })
    })?;
    pending::with(|pending| pending.claiming = None);
    Ok(started)
}

/// The next available positions of the lane, locked or not, and whether there are no more.
pub fn look_ahead(
    job_table: pg_sys::Oid,
    picked: &Picked,
    own: &[i64],
) -> Result<(Vec<i64>, bool)> {
    let (mut ahead, is_all) = table::command(|command| {
        let jobs = command.open(job_table, Operation::Look);
        let mut found = waiting(&jobs, picked, picked.head, i64::MAX)?;
        let mut ahead = Vec::with_capacity(AHEAD + 1);
        while ahead.len() < AHEAD {
            let Some(row) = found.next() else {
                return Ok((ahead, true));
            };
            ahead.extend(row.int8(column::POSITION).filter(|at| !own.contains(at)));
        }
        Ok((ahead, false))
    })?;
    // For everybody else a job that this transaction took out of a session is its next until the commit.
    let gone = pending::with(|pending| pending.least_gone(picked.spec.lane));
    if let Some(gone) = gone.filter(|&gone| picked.spec.session != 0 && gone >= picked.head) {
        ahead.push(gone);
        ahead.sort_unstable();
    }
    Ok((ahead, is_all))
}

fn waiting<'c>(jobs: &Table<'c>, picked: &Picked, from: i64, before: i64) -> Result<Search<'c>> {
    let index = catalog::relation(CLAIM_INDEX)?;
    Ok(jobs.search(index, &between(picked, from, before)))
}

fn between(picked: &Picked, from: i64, before: i64) -> [Where; 3] {
    [
        Where::Is(LANE, picked.spec.lane.cast_signed()),
        Where::From(POSITION, from),
        Where::Before(POSITION, before),
    ]
}

fn next_eligible<'f>(found: &'f mut Search, own: &[i64]) -> Option<RawRow<'f>> {
    loop {
        let position = found.next()?.int8(column::POSITION);
        if position.is_some_and(|at| !own.contains(&at)) {
            return Some(found.current());
        }
    }
}

fn lease_of(spi: &Spi, picked: &Picked, claimer: &Claimer) -> Result<Option<Datum>> {
    match claimer.lease {
        Some(lease) => Ok(Some(lease)),
        None => Ok(datum(lease::of_queue(spi, picked)?)),
    }
}

impl Run {
    fn from_now_on(picked: &Picked, claimer: &Claimer, lease: Option<Datum>) -> Self {
        let now = server::now();
        Self {
            worker: claimer.worker,
            owner_pid: claimer.owner.and_then(|owner| datum(owner.pid)),
            owner_started_at: claimer.owner.and_then(|owner| datum(owner.started_at)),
            // Where a rate counts starts, windows of claimed_at are exact.
            claimed_at: if picked.is_metered { picked.now } else { now },
            lease_expires_at: lease.and_then(|lease| server::later(now, lease)),
        }
    }

    /// The new values of what is [`CHANGED`].
    fn changes(&self, job: &RawRow) -> [(usize, Option<Datum>); CHANGED.len()] {
        let attempt = job.int4(column::ATTEMPT).unwrap_or(0);
        let values = [
            datum("running"),
            datum(attempt.saturating_add(1)),
            self.worker,
            self.owner_pid,
            self.owner_started_at,
            datum(self.claimed_at),
            self.lease_expires_at.and_then(datum),
        ];
        let mut values = values.into_iter();
        CHANGED.map(|column| (column, values.next().flatten()))
    }
}

/// The columns of `claimed_job`.
fn claimed(job: &RawRow) -> [Option<Datum>; 13] {
    let attempts = [column::MAX_ATTEMPTS, column::UNCOUNTED].map(|at| job.int4(at).unwrap_or(0));
    let [max_attempts, uncounted] = attempts;
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
        datum(max_attempts.saturating_add(uncounted)),
        job.raw(column::LEASE_EXPIRES_AT),
        job.raw(column::CREATED_AT),
        job.raw(column::METADATA),
    ]
}
