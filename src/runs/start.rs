//! The rows of a claim: waiting jobs of a lane are found by position, locked and set running.

use crate::job::claim_epoch::{self, Claim};
use crate::job::column;
use crate::job::later::Later;
use crate::job::{queue_settings, state};
use crate::pg::call::{datum, word};
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::spi::Spi;
use crate::pg::tuple::RawRow;
use crate::runs::by_statement;
use crate::runs::lane_rows::LaneRows;
use crate::runs::late_children::{self, Counted};
use crate::runs::run::{AHEAD, MOST_TRIED, Run, Started, Wanted, most_openings};
use crate::shmem::QueueSettings;
use crate::sync::held_session;
use crate::table::{self, Jobs, Operation, Table, figures, places};
use crate::transaction::claim::refuse_loss;
use pgrx::pg_sys::{self, Datum};
use std::rc::Rc;
use turnstile_scheduler::figures::State;

/// The columns of a job that a claim changes, but for those of later releases and those that only a lost claim changes.
const CHANGED: [usize; 7] = [
    column::STATE,
    column::ATTEMPT,
    column::WORKER,
    column::OWNER_PID,
    column::OWNER_STARTED_AT,
    column::CLAIMED_AT,
    column::LEASE_EXPIRES_AT,
];

/// Sets jobs of the lane running and passes them on in order.
pub fn start_jobs(spi: &Spi, wanted: &Wanted, output: &mut Output) -> Result<Started> {
    let settings = queue_settings::committed(wanted.picked.settings_of)?;
    let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
    match jobs.is_direct() {
        true => start_directly(spi, &jobs, wanted, &settings, output),
        false => by_statement::start(spi, jobs.table, wanted, &settings, output),
    }
}

fn start_directly(
    spi: &Spi,
    jobs: &Rc<Jobs>,
    wanted: &Wanted,
    settings: &QueueSettings,
    output: &mut Output,
) -> Result<Started> {
    let &Wanted {
        picked, most, own, ..
    } = wanted;
    table::command(|command| {
        let mut starting = Starting {
            spi,
            // Not before the snapshot was taken: all jobs in it were created earlier.
            run: Run::from_now_on(picked, wanted.claimer, settings),
            jobs: command.open(jobs, Operation::Update(&CHANGED)),
            job_table: jobs.table,
            later: jobs.later,
            wanted,
            settings,
            output,
            started: Started {
                positions: Vec::with_capacity(most),
                runs: Vec::with_capacity(most),
                seen: Vec::with_capacity(most + AHEAD),
                ..Started::default()
            },
            end: picked.bound.unwrap_or(i64::MAX),
            is_past: false,
            may_be_lost: true,
        };
        let mut found = LaneRows::of(&starting.jobs, picked, most, own)?;
        while starting.wants_more() {
            let Some(row) = found.next()? else {
                starting.started.seen_all = true;
                break;
            };
            if !starting.goes_on_behind(row)? {
                break;
            }
        }
        starting.end(&mut found)
    })
}

/// A claim that is starting jobs of a lane.
struct Starting<'a> {
    spi: &'a Spi,
    run: Run,
    jobs: Table<'a>,
    job_table: pg_sys::Oid,
    later: Later,
    wanted: &'a Wanted<'a>,
    settings: &'a QueueSettings,
    output: &'a mut Output,
    started: Started,
    /// Where the jobs end that may start.
    end: i64,
    /// A job was seen there.
    is_past: bool,
    may_be_lost: bool,
}

impl Starting<'_> {
    fn wants_more(&self) -> bool {
        self.started.positions.len() < self.wanted.most
            && self.started.openings.len() < most_openings(self.wanted.picked)
    }

    /// Starts a job if it can. Whether those behind it may start, too.
    fn goes_on_behind(&mut self, row: RawRow) -> Result<bool> {
        let picked = self.wanted.picked;
        let position = row.int8(column::POSITION);
        self.started.seen.extend(position);
        self.is_past = position.is_some_and(|at| at >= self.end);
        if self.is_past || self.started.tried == MOST_TRIED {
            return Ok(false);
        }
        if !row.waits_in(&picked.spec, picked.head, self.end) {
            self.started.tried += 1;
            return Ok(true);
        }
        if row.opens_batch() {
            self.started.openings.extend(row.int8(column::ID));
            return Ok(true);
        }
        if self.run.begins_before(&row) {
            return Ok(false);
        }
        self.started.tried += 1;
        match held_session::is_paused(self.spi, self.job_table, &row)? {
            true => self.started.has_paused = true,
            false => self.start(row, position)?,
        }
        Ok(true)
    }

    fn start(&mut self, row: RawRow, position: Option<i64>) -> Result<()> {
        let (job_table, later) = (self.job_table, &self.later);
        let (picked, started, output) = (self.wanted.picked, &mut self.started, &mut self.output);
        let attempts = row.int4(column::ATTEMPT).unwrap_or(0);
        let known = row.far_int4(later.claim_epoch);
        let claim = claim_epoch::of_claim(attempts, known, self.settings.durable_claims)?;
        let changes = self.run.changes(&row, later, known, &claim);
        let id = row.int8(column::ID);
        let counted = late_children::counted_anew(self.spi, &row, later)?;
        let pass_on = |job: &RawRow| {
            let before = (State::Available, job.int8(column::RUN_AT));
            figures::note_start(job_table, &picked.spec, before, job);
            output.push(claimed(job, later, counted.as_ref()).into_iter());
            started.positions.extend(position);
            started.runs.extend(job.run().map(|(run, _)| run));
        };
        if let Some(place) = self.jobs.start(row, &changes, pass_on)? {
            self.may_be_lost &= claim.may_be_lost;
            places::note(id, place);
        }
        Ok(())
    }

    fn end(mut self, found: &mut LaneRows) -> Result<Started> {
        let Wanted {
            picked,
            most,
            with_next,
            ..
        } = *self.wanted;
        if with_next && self.started.positions.len() == most && !self.is_past {
            self.started.see_next(found)?;
        }
        self.run
            .note_leases(self.job_table, picked.spec.queue, &mut self.started);
        if !self.may_be_lost {
            refuse_loss();
        }
        Ok(self.started)
    }
}

impl Run {
    /// The new values of what a claim changes. Columns of number 0 stay.
    fn changes(
        &self,
        job: &RawRow,
        later: &Later,
        known: Option<i32>,
        claim: &Claim,
    ) -> [(usize, Option<Datum>); CHANGED.len() + 4] {
        let [attempts, uncounted] =
            [column::ATTEMPT, column::UNCOUNTED].map(|at| job.int4(at).unwrap_or(0));
        let skipped = claim.skipped;
        let if_so = |is_changed: bool, column| if is_changed { column } else { 0 };
        let [
            state,
            attempt,
            worker,
            owner_pid,
            owner_started_at,
            claimed_at,
            lease_expires_at,
        ] = CHANGED;
        [
            (state, Some(word!(state::State::Running.name()))),
            (
                attempt,
                datum(attempts.saturating_add(skipped).saturating_add(1)),
            ),
            (worker, self.worker),
            (owner_pid, self.owner_pid),
            (owner_started_at, self.owner_started_at),
            (claimed_at, datum(self.claimed_at)),
            (lease_expires_at, self.lease_expires_at.and_then(datum)),
            (later.lease, self.lease),
            (
                if_so(claim.epoch != known, later.claim_epoch),
                claim.epoch.and_then(datum),
            ),
            (
                if_so(skipped > 0, column::UNCOUNTED),
                datum(uncounted.saturating_add(skipped)),
            ),
            // Otherwise, the number of the attempt says that the run is the first.
            (
                if_so(skipped > 0 && attempts == 0, later.first_started_at),
                datum(self.claimed_at),
            ),
        ]
    }
}

/// The columns of `claimed_job`.
fn claimed(job: &RawRow, later: &Later, counted: Option<&Counted>) -> [Option<Datum>; 16] {
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
        counted.map_or_else(|| job.raw(later.children), Counted::numbers),
        datum(i32::try_from(left.max(0)).unwrap_or(i32::MAX)),
        first_started_at,
    ]
}
