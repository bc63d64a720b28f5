//! What a changed job means to those who count jobs: see `figures` of the scheduler.

mod count;
mod labels;

pub use count::{count, count_anew, count_unless_serializable, visit_figures};

use super::slow_jobs;
use crate::job::column;
use crate::job::later::Later;
use crate::job::row::JobRow;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::tuple::RawRow;
use crate::transaction::pending;
use labels::labels_of;
use pgrx::pg_sys::Oid;
use turnstile_scheduler::LaneSpec;
use turnstile_scheduler::figures::{Change, Event, State};

/// A job before or after a change.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub row: &'a RawRow<'a>,
    pub job: &'a JobRow,
}

/// What a job was that was changed or deleted other than by a claim.
pub struct Gone<'a> {
    pub side: Side<'a>,
    /// How long it ran, if it did.
    ran: Option<i64>,
    /// How long it had waited over all its runs, if it has ended.
    waited_in_all: Option<i64>,
    failure: Option<Event>,
    end: Option<Event>,
    is_retried: bool,
}

/// What a job has become that was added or changed other than by a claim.
pub struct Come<'a> {
    pub side: Side<'a>,
    is_added: bool,
    starts: bool,
    waited: Option<i64>,
}

/// A claim has started a job that was in this state and due at this time: a user's trigger may have changed it.
pub fn note_start(
    job_table: Oid,
    spec: &LaneSpec,
    (before, due): (State, Option<i64>),
    job: &RawRow,
) {
    let job = job.again(usize::MAX);
    let waited = time_between(due, job.int8(column::CLAIMED_AT));
    slow_jobs::note_wait(&job, waited);
    pending::note(job_table, |level| {
        let figures = &mut level.lane(*spec).figures;
        name(figures, &job);
        if !armed(Seeded::ClaimFreesNoPlace) {
            figures.add(before, -1);
        }
        if before == State::Available {
            figures.left.extend(due);
        }
        figures.add(State::Running, 1);
        figures.note(Event::Started);
        figures.waited.extend(waited);
    });
}

impl<'a> Gone<'a> {
    pub fn of([old, new]: [Option<Side<'a>>; 2]) -> Option<Self> {
        let side = old?;
        let stops = side.job.is_running() && !new.is_some_and(|new| new.job.is_running());
        let id = side.row.int8(column::ID).unwrap_or(0);
        let (failure, end) = pending::with(|pending| {
            let end = || pending.end_of(id);
            (
                stops.then(|| pending.failure_of(id)),
                new.is_none().then(end),
            )
        });
        let (failure, end) = (failure.flatten(), end.flatten());
        Some(Self {
            side,
            ran: stops.then(|| run_time(side.row)).flatten(),
            waited_in_all: end.and_then(|_| waited_in_all(side.row)),
            failure,
            end,
            is_retried: failure.is_some() && new.is_some(),
        })
    }

    pub fn note(&self, figures: &mut Change) {
        let Side { row, job } = self.side;
        name(figures, row);
        if let Some(state) = job.state {
            figures.add(state, -1);
        }
        if job.is_available() {
            figures.left.extend(row.int8(column::RUN_AT));
        }
        figures.ran.extend(self.ran);
        figures.waited_in_all.extend(self.waited_in_all);
        let retried = self.is_retried.then_some(Event::Retried);
        for event in [self.failure, self.end, retried].into_iter().flatten() {
            figures.note(event);
        }
    }
}

impl<'a> Come<'a> {
    pub fn of([old, new]: [Option<Side<'a>>; 2]) -> Option<Self> {
        let side = new?;
        let starts = side.job.is_running() && old.is_some_and(|old| !old.job.is_running());
        Some(Self {
            side,
            is_added: old.is_none(),
            starts,
            waited: starts.then(|| wait_time(side.row)).flatten(),
        })
    }

    pub fn note(&self, figures: &mut Change) {
        let Side { row, job } = self.side;
        name(figures, row);
        if let Some(state) = job.state {
            figures.add(state, 1);
        }
        if job.is_available() {
            figures.arrived.extend(row.int8(column::RUN_AT));
        }
        if self.is_added {
            figures.note(Event::Enqueued);
        }
        if self.starts {
            figures.note(Event::Started);
        }
        figures.waited.extend(self.waited);
    }
}

fn name(figures: &mut Change, row: &RawRow) {
    figures.labels.get_or_insert_with(|| labels_of(row));
}

fn wait_time(row: &RawRow) -> Option<i64> {
    let row = row.again(usize::MAX);
    let waited = time_between(row.int8(column::RUN_AT), row.int8(column::CLAIMED_AT));
    slow_jobs::note_wait(&row, waited);
    waited
}

fn run_time(row: &RawRow) -> Option<i64> {
    let row = row.again(usize::MAX);
    let ran = time_between(row.int8(column::CLAIMED_AT), Some(server::now()));
    slow_jobs::note_run(&row, ran);
    ran
}

/// As `jobs` has it; none if it never ran.
fn waited_in_all(row: &RawRow) -> Option<i64> {
    let row = row.again(usize::MAX);
    let before = row.far_interval(Later::of(&row).waited);
    let before = before.map(|before| i64::try_from(before.as_micros()).unwrap_or(i64::MAX));
    let last = time_between(row.int8(column::RUN_AT), row.int8(column::CLAIMED_AT));
    match (before, last) {
        (Some(before), Some(last)) => Some(before.saturating_add(last)),
        (before, last) => before.or(last),
    }
}

/// Microseconds; none since `-infinity`.
fn time_between(since: Option<i64>, until: Option<i64>) -> Option<i64> {
    let since = since.filter(|&time| time != i64::MIN);
    Some(until?.checked_sub(since?)?.max(0))
}
