//! What a changed job means to the scheduler. Two row triggers on `turnstile.job` report every change. Code that
//! changes rows without a plan does the same by itself where no other trigger could tell the difference.

use crate::job::claim_epoch;
use crate::job::column;
use crate::job::later::Later;
use crate::job::refused::{invalid_column, out_of_lane};
use crate::job::row::{FOR_ITS_TIME, JobRow, waits_for};
use crate::job::state;
use crate::permission;
use crate::pg::call::{Call, datum, word};
use crate::pg::error::Result;
use crate::pg::functions::sql_function;
use crate::pg::room;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::trigger::{Moment, Trigger};
use crate::pg::tuple::RawRow;
use crate::shmem;
use crate::table::figures::{Come, Gone, Side};
use crate::table::{backlog, figures, parents};
use crate::transaction::leases::Leases;
use crate::transaction::level::{Level, least};
use crate::transaction::own::Begun;
use crate::transaction::pending;
use pgrx::pg_sys::{self, Datum};
use turnstile_scheduler::figures::State;
use turnstile_scheduler::{LaneSpec, LeaseView};

sql_function!(
    turnstile_job_changed,
    pg_finfo_turnstile_job_changed,
    job_changed
);
sql_function!(turnstile_place_job, pg_finfo_turnstile_place_job, place_job);

/// AFTER ROW trigger on `turnstile.job`.
pub fn job_changed(call: &Call) -> Result<Option<Datum>> {
    let trigger = Trigger::of(call, c"job", Moment::RowAfter)?;
    let (old, new) = (trigger.old_row(), trigger.new_row());
    permission::job_changed(old.as_ref(), new.as_ref())?;
    note(trigger.table(), old.as_ref(), new.as_ref())?;
    Ok(Trigger::NOTHING)
}

/// BEFORE ROW trigger on `turnstile.job`, for every writer. A generated column would have its expression parsed anew
/// for each statement.
pub fn place_job(call: &Call) -> Result<Option<Datum>> {
    let trigger = Trigger::of(call, c"job", Moment::RowBefore)?;
    let Some(row) = trigger.new_row() else {
        return Ok(Some(trigger.row_unchanged()));
    };
    let old = trigger.old_row();
    let epoch = match &old {
        Some(old) if !parents::admit_change(trigger.table(), &row, old)? => {
            return Ok(Trigger::NOTHING);
        }
        Some(_) => None,
        None => {
            parents::admit_new(trigger.table(), &row)?;
            backlog::admit(trigger.table(), &row)?;
            claim_epoch::of_inserted(&row)?
        }
    };
    let epoch = epoch.map(|(column, value)| (column, Some(value)));
    let (_, changes) = place(&row, old.as_ref());
    let changes: Vec<_> = changes.chain(epoch).collect();
    Ok(Some(match changes.as_slice() {
        [] => trigger.row_unchanged(),
        changes => trigger.row_with(changes),
    }))
}

/// The lane of a job, and what puts it there: columns with their values. A job whose time is ahead waits for it. A job that held its
/// session and leaves it holds nothing in the next one.
pub fn place(
    row: &RawRow,
    old: Option<&RawRow>,
) -> (LaneSpec, impl Iterator<Item = (usize, Option<Datum>)>) {
    let gives_up = old.is_some_and(|old| row.has_left(old)) || takes_unasked(row, old);
    let lane = row.lane_as(row.holds_session() && !gives_up);
    let holds = gives_up.then(|| (column::HOLDS_SESSION, datum(false)));
    let keys = (!row.is_in(&lane)).then(|| {
        [
            (column::LANE, lane.lane),
            (column::LANE_GROUP, lane.group()),
        ]
    });
    let keys = keys.into_iter().flatten();
    let keys = keys.map(|(column, key)| (column, datum(key.cast_signed())));
    let is_ahead = row.is_ahead(server::now()) && !old.is_some_and(|old| is_hurried(old, row));
    let state = is_ahead.then(|| (column::STATE, Some(word!(state::State::Scheduled.name()))));
    let waits = (is_ahead || !row.waits_as_stored()).then(|| {
        let state = match is_ahead {
            true => Some(State::Scheduled),
            false => row.state(),
        };
        let stored = state.and_then(waits_for);
        (Later::of(row).waits_for, stored.and_then(datum))
    });
    let changes = [holds, state, waits].into_iter().flatten().chain(keys);
    (lane, changes)
}

/// Whether a job that waited for its time was made available before, which says that it need not wait.
fn is_hurried(old: &RawRow, row: &RawRow) -> bool {
    let waited_for = old.state().and_then(waits_for);
    waited_for == Some(FOR_ITS_TIME) && old.int8(column::RUN_AT) == row.int8(column::RUN_AT)
}

/// What `claim_own` has begun has not asked for its session, which another job may hold.
fn takes_unasked(row: &RawRow, old: Option<&RawRow>) -> bool {
    row.holds_session()
        && !old.is_some_and(RawRow::holds_session)
        && pending::with(|pending| {
            pending.claims_own() && pending.has_begun(row.int8(column::ID).unwrap_or(0))
        })
}

/// Checks the new row of a job, and notes what it changes for the scheduler.
pub fn note(job_table: pg_sys::Oid, old: Option<&RawRow>, new: Option<&RawRow>) -> Result<()> {
    note_read(job_table, old, new.map(|row| (row, row.read())))
}

/// The same for a job that is added, and was put into this lane.
pub fn note_added(job_table: pg_sys::Oid, row: &RawRow, lane: LaneSpec) -> Result<()> {
    note_read(job_table, None, Some((row, row.read_in(lane))))
}

fn note_read(
    job_table: pg_sys::Oid,
    old: Option<&RawRow>,
    placed: Option<(&RawRow, JobRow)>,
) -> Result<()> {
    shmem::provide(job_table);
    if !armed(Seeded::TakeMemoryUnasked) {
        room::for_changes(pending::with(|pending| pending.changes()))?;
    }
    let Some((new, job)) = &placed else {
        note_changed(job_table, old, placed);
        return Ok(());
    };
    let is_out_of_lane = !new.is_in(&job.spec) || !new.waits_as_stored();
    let claimed_from = old.filter(|old| is_claimed(old, new));
    if claimed_from.is_none()
        && let Some(column) = new.invalid_column(old)
        && !armed(Seeded::AcceptNonsense)
    {
        return Err(invalid_column(column));
    }
    // Room for a claim was reserved in the lane in which the job was.
    if is_out_of_lane || claimed_from.is_some_and(|old| !old.is_in_lane_of(new)) {
        return Err(out_of_lane());
    }
    match (claimed_from, old) {
        (Some(old), _) => note_claimed(job_table, old, new, job),
        (None, Some(old)) if old.is_same_to_scheduler(new) => note_same(job_table, old, new),
        (None, _) => note_changed(job_table, old, placed),
    }
    Ok(())
}

fn note_claimed(job_table: pg_sys::Oid, old: &RawRow, new: &RawRow, job: &JobRow) {
    let before = old.state().unwrap_or(State::Available);
    let due = old.int8(column::RUN_AT);
    figures::note_start(job_table, &job.spec, (before, due), new);
}

/// All that may have changed is the lease of its run.
fn note_same(job_table: pg_sys::Oid, old: &RawRow, new: &RawRow) {
    if old.run() != new.run() {
        let (old, new) = (old.read().lease, new.read().lease);
        pending::note(job_table, |level| replace(&mut level.leases, old, new));
    }
}

fn note_changed(job_table: pg_sys::Oid, old: Option<&RawRow>, placed: Option<(&RawRow, JobRow)>) {
    let old = old.map(|row| (row, row.read()));
    let sides = [&old, &placed].map(|side| side.as_ref().map(|(row, job)| Side { row, job }));
    let (gone, come) = (Gone::of(sides), Come::of(sides));
    let is_promoted = is_promoted(gone.as_ref(), come.as_ref());
    let follow_up = follow_up(sides);
    let changed = sides.into_iter().flatten().next();
    pending::forget_parent(changed.and_then(|side| side.row.int8(column::ID)));
    let claims_own = pending::with(|pending| pending.claims_own());
    let begun = if claims_own { begun(sides) } else { None };
    pending::note(job_table, |level| {
        level.own.begun.extend(begun);
        if claims_own {
            level.follow_ups.extend(follow_up);
            level.follow_ups.extend(parent_left(sides));
        } else if level.follow_ups.last() != follow_up.as_ref() {
            level.follow_ups.extend(follow_up);
        }
        if let Some(gone) = &gone {
            note_old(level, gone);
        }
        if let Some(come) = &come {
            note_new(level, come, is_promoted);
        }
    });
}

/// Whether a promotion is under way, and has made the job available. It is told of it.
fn is_promoted(gone: Option<&Gone>, come: Option<&Come>) -> bool {
    let (Some(gone), Some(come)) = (gone, come) else {
        return false;
    };
    let (before, job) = (gone.side.job, come.side.job);
    let was_put_off = before.waits_until.is_some() || before.state == Some(State::Blocked);
    was_put_off
        && job.is_available()
        && pending::with(|pending| {
            let promotion = pending.promotion();
            promotion
                .map(|jobs| jobs.push((job.spec, job.position)))
                .is_some()
        })
}

/// The job after whose change others are to be looked at: it waits for others since now, or others wait for it. For a new child that
/// is the parent, with which its children are looked at; one that leaves it before is looked at by itself.
fn follow_up([old, new]: [Option<Side>; 2]) -> Option<i64> {
    if armed(Seeded::ForgetFollowUp) {
        return None;
    }
    let is_blocked = |side: &Side| side.job.state == Some(State::Blocked);
    let id = |side: Side| side.row.int8(column::ID);
    match (old, new) {
        (None, Some(new)) if is_blocked(&new) => new.row.parent().or(id(new)),
        (Some(old), Some(new))
            if is_blocked(&new) && (!is_blocked(&old) || has_left_parent(old.row, new.row)) =>
        {
            id(new)
        }
        (Some(old), None) if old.row.has_followers() || leaves_batch(old.row) => id(old),
        _ => None,
    }
}

/// Its children wait for a turn that does not come.
fn leaves_batch(gone: &RawRow) -> bool {
    gone.opens_batch() && !armed(Seeded::ForgetLeftBatch)
}

fn has_left_parent(old: &RawRow, new: &RawRow) -> bool {
    old.parent() != new.parent() && !armed(Seeded::ForgetTakenOut)
}

/// The parent of a job that is gone. Of what is committed memory knows it by itself.
fn parent_left([old, new]: [Option<Side>; 2]) -> Option<i64> {
    old.filter(|_| new.is_none())?.row.parent()
}

/// How a job is that `claim_own` has begun, or begins, whatever changes it.
fn begun([old, new]: [Option<Side>; 2]) -> Option<(i64, Begun)> {
    let row = new.or(old)?.row;
    let id = row.int8(column::ID)?;
    let attempt = row.int4(column::ATTEMPT)?;
    let is_open =
        new.is_some_and(|new| new.job.is_running() || new.job.state == Some(State::Blocked));
    let has_begun = pending::with(|pending| pending.has_begun(id));
    has_begun.then_some((id, Begun { attempt, is_open }))
}

/// Whether a claim of this backend has set the job running, which has reserved room for that.
fn is_claimed(old: &RawRow, new: &RawRow) -> bool {
    let run = new.int8(column::ID).zip(new.int4(column::ATTEMPT));
    !old.is_running()
        && new.is_running()
        && run.is_some_and(|(id, attempt)| pending::with(|pending| pending.meets_run(id, attempt)))
}

/// A run that waits for nothing else has another lease, or another name.
fn replace(leases: &mut Leases, old: Option<LeaseView>, new: Option<LeaseView>) {
    let Some((old, new)) = old.zip(new) else {
        return;
    };
    match old.run == new.run {
        true => leases.replace(old, new),
        false => {
            leases.end(old);
            leases.begin(new);
        }
    }
}

fn note_old(level: &mut Level, gone: &Gone) {
    let row = gone.side.job;
    let lane = level.lane(row.spec);
    gone.note(&mut lane.figures);
    if row.is_available() {
        lane.least_gone = least(lane.least_gone, Some(row.position));
    }
    if row.is_running() {
        level.note_end(row.spec);
    }
    if let Some(lease) = row.lease {
        level.leases.end(lease);
    }
    level.due_taken.note(row.spec.queue, row.waits_until);
    if let Some(session) = row.held_session {
        level.note_end(session);
    }
}

fn note_new(level: &mut Level, come: &Come, is_promoted: bool) {
    let row = come.side.job;
    let lane = level.lane(row.spec);
    come.note(&mut lane.figures);
    if row.is_available() {
        if is_promoted {
            lane.least_promoted = least(lane.least_promoted, Some(row.position));
            lane.promoted += 1;
        } else {
            lane.available.push(row.position);
        }
    }
    if row.is_running() {
        level.note_start(row.spec);
    }
    if let Some(session) = row.held_session {
        level.note_start(session);
    }
    if let Some(lease) = row.lease {
        level.leases.begin(lease);
    }
    level.next_due.note(row.spec.queue, row.waits_until);
}
