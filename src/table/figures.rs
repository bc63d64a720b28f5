//! What a changed job means to those who count jobs: see `figures` of the scheduler.

mod count;

pub use count::{count, count_anew, count_unless_serializable, visit_figures};

use super::slow_jobs;
use crate::job::row::{JobRow, column};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::tuple::RawRow;
use crate::transaction::pending;
use pgrx::pg_sys::Oid;
use turnstile_scheduler::LaneSpec;
use turnstile_scheduler::figures::{Change, Event, Labels, State};

/// One side of a change.
type Side<'a> = (&'a RawRow<'a>, &'a JobRow);

/// A claim has started a job that was in this state.
pub fn note_start(job_table: Oid, spec: &LaneSpec, before: State, job: &RawRow) {
    let job = job.again(usize::MAX);
    let due = job.int8(column::RUN_AT);
    let waited = time_between(due, job.int8(column::CLAIMED_AT));
    slow_jobs::note_wait(&job, waited);
    change(job_table, spec, &job, |figures| {
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

/// A job was added, changed or deleted other than by a claim.
pub fn note_change(job_table: Oid, old: Option<Side>, new: Option<Side>) {
    let is_running = |side: Option<Side>| side.is_some_and(|(_, job)| job.running);
    if let Some((row, job)) = old {
        let state = state_of(row);
        let event = |event: Option<Event>| event.filter(|_| new.is_none());
        let id = row.int8(column::ID).unwrap_or(0);
        let (failure, end) =
            pending::with(|pending| (pending.failure_of(id), event(pending.end_of(id))));
        let stops = is_running(old) && !is_running(new);
        let ran = stops.then(|| run_time(row)).flatten();
        let is_retried = stops && failure.is_some() && new.is_some();
        change(job_table, &job.spec, row, |figures| {
            figures.add(state, -1);
            if job.available {
                figures.left.extend(row.int8(column::RUN_AT));
            }
            figures.ran.extend(ran);
            let retried = is_retried.then_some(Event::Retried);
            let events = failure
                .filter(|_| stops)
                .into_iter()
                .chain(end)
                .chain(retried);
            events.for_each(|event| figures.note(event));
        });
    }
    if let Some((row, job)) = new {
        let state = state_of(row);
        let starts = is_running(new) && !is_running(old);
        let waited = starts.then(|| wait_time(row)).flatten();
        change(job_table, &job.spec, row, |figures| {
            figures.add(state, 1);
            if job.available {
                figures.arrived.extend(row.int8(column::RUN_AT));
            }
            if old.is_none() {
                figures.note(Event::Enqueued);
            }
            if starts && old.is_some() {
                figures.note(Event::Started);
            }
            figures.waited.extend(waited.filter(|_| old.is_some()));
        });
    }
}

fn change(job_table: Oid, spec: &LaneSpec, row: &RawRow, change: impl FnOnce(&mut Change)) {
    pending::note(job_table, |level| {
        let figures = &mut level.lane(*spec).figures;
        figures.labels.get_or_insert_with(|| labels_of(row));
        change(figures);
    });
}

fn labels_of(row: &RawRow) -> Labels {
    Labels::of([
        row.text(column::QUEUE),
        row.text(column::TENANT),
        row.text(column::ACCOUNT),
        row.text(column::CONCURRENCY_KEY),
    ])
}

pub fn state_of(row: &RawRow) -> State {
    match row.text(column::STATE) {
        Some("scheduled") => State::Scheduled,
        Some("retryable") => State::Retryable,
        Some("running") => State::Running,
        _ => State::Available,
    }
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

/// Microseconds; none since `-infinity`.
fn time_between(since: Option<i64>, until: Option<i64>) -> Option<i64> {
    let since = since.filter(|&time| time != i64::MIN);
    Some(until?.checked_sub(since?)?.max(0))
}
