//! Tells the scheduler what transactions have changed.
//!
//! [`crate::table::triggers`] and the triggers on the tables of settings note changes in
//! [`crate::transaction::pending`]; the commit callback applies them once the rows are visible and before the
//! client hears of it. Callbacks never raise, panic or call SPI: a failure there leaves the memory
//! marked dirty, and the next claim rebuilds it.

#![allow(
    unsafe_code,
    reason = "is called back by the server at the end of transactions"
)]

use crate::pg::error::{cannot_prepare, own_run_is_open};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::{commit, server, unguarded};
use crate::shmem::{self, Locked, Phase, sleeper};
use crate::sync::dropped;
use crate::sync::lane_changes;
use crate::sync::parts::{self, First, Steps, ids, unless_stale};
use crate::transaction::earliest::Earliest;
use crate::transaction::leases::LeasesPart;
use crate::transaction::level::{LaneChange, Level};
use crate::transaction::pending::{self, Work};
use pgrx::{pg_guard, pg_sys};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use turnstile_scheduler::{GateKind, Step};

/// Called from `_PG_init`.
pub fn register_callbacks() {
    // SAFETY: the callbacks live as long as the process.
    unsafe {
        pg_sys::RegisterXactCallback(Some(at_transaction_end), null_mut());
        pg_sys::RegisterSubXactCallback(Some(at_savepoint_end), null_mut());
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_transaction_end(event: pg_sys::XactEvent::Type, _arg: *mut c_void) {
    use pg_sys::XactEvent::{
        XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PRE_COMMIT, XACT_EVENT_PRE_PREPARE,
    };
    match event {
        XACT_EVENT_COMMIT => {
            commit::restore();
            quietly(apply);
            quietly(|| dropped::at_end(true));
        }
        XACT_EVENT_ABORT => {
            commit::restore();
            quietly(abort);
            dropped::at_end(false);
        }
        XACT_EVENT_PRE_COMMIT => {
            let open = pending::with(|pending| pending.open_own_run());
            if let Some((job_id, attempt)) = open.filter(|_| !armed(Seeded::CommitOwnRuns)) {
                own_run_is_open(job_id, attempt).raise()
            }
            if pending::with(|pending| pending.loss.is_allowed()) {
                commit::do_not_wait();
            }
        }
        XACT_EVENT_PRE_PREPARE
            if pending::with(|pending| !pending.is_empty()) && !armed(Seeded::AllowPrepare) =>
        {
            cannot_prepare().raise()
        }
        _ => {}
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_savepoint_end(
    event: pg_sys::SubXactEvent::Type,
    _own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _arg: *mut c_void,
) {
    use pg_sys::SubXactEvent::{SUBXACT_EVENT_ABORT_SUB, SUBXACT_EVENT_COMMIT_SUB};
    // The ending level is still the current one.
    let nesting = unguarded::GetCurrentTransactionNestLevel();
    match event {
        SUBXACT_EVENT_COMMIT_SUB => pending::with(|pending| pending.release_level(nesting)),
        SUBXACT_EVENT_ABORT_SUB if armed(Seeded::KeepSavepointLevel) => {
            pending::with(|pending| pending.release_level(nesting));
        }
        SUBXACT_EVENT_ABORT_SUB => quietly(|| abort_savepoint(nesting)),
        _ => {}
    }
}

/// A panic in a callback would take the server down. The step that failed has left its mark in memory.
fn quietly(step: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(step));
}

fn apply() {
    abandon(0);
    let Some((table, changes)) = take_all() else {
        return;
    };
    // The ending transaction's id is still known to the backend.
    let id = unguarded::GetTopFullTransactionIdIfAny().value;
    // New jobs are charged to a bound of their backlog until their figures say that they wait: one takes the place of the other at once.
    let has_charges = changes.charges.iter().next().is_some();
    let first = |memory: &mut Locked, first: &First| {
        if changes.changes_routes() {
            memory.draw_routes_version();
        }
        if changes.bounds {
            memory.draw_bounds_version();
        }
        if changes.recurring && !armed(Seeded::HideRecurring) {
            memory.state.recurring.look_at(server::now());
        }
        discharge(memory, &changes);
        lane_changes::commit_figures(memory, first.lanes, id);
        if has_charges {
            lane_changes::commit_figures(memory, first.others, id);
        }
        for &job in &changes.follow_ups {
            memory.state.follow_ups.add(job, i64::MIN);
        }
        if changes.rebuild {
            memory.state.failed_runs.forget();
        }
        for &(job, attempt) in &changes.failed_runs {
            let now = server::now();
            memory.state.failed_runs.add(job, attempt, now);
        }
        apply_commit(memory, &changes, first.lanes, id)
    };
    let lanes = |memory: &mut Locked, lanes: &[&LaneChange]| {
        if !has_charges {
            lane_changes::commit_figures(memory, lanes, id);
        }
        let counted = memory.rebuild_has_seen(id);
        unless_stale(memory, |memory| {
            lane_changes::commit(memory, lanes, counted)
        })
    };
    let leases = commit_leases;
    parts::tell(table, &changes, first, &Steps { lanes, leases });
}

fn abort() {
    sleeper::end_wait_quietly();
    abandon(0);
    if let Some((table, changes)) = take_all()
        && !armed(Seeded::IgnoreAbort)
    {
        undo_all(table, &changes);
    }
}

fn abort_savepoint(nesting: i32) {
    sleeper::end_wait_quietly();
    abandon(nesting);
    let (table, levels) = pending::with(|pending| {
        let levels: Vec<Level> = std::iter::from_fn(|| pending.take_from(nesting)).collect();
        (pending.job_table(), levels)
    });
    for level in levels {
        if armed(Seeded::IgnoreSavepointRollback) {
            continue;
        }
        undo_all(table, &level);
    }
}

fn take_all() -> Option<(pg_sys::Oid, Level)> {
    pending::with(|pending| {
        if pending.is_empty() {
            pending.take_all();
            return None;
        }
        Some((pending.job_table(), pending.take_all()))
    })
}

fn apply_commit(memory: &mut Locked, changes: &Level, lanes: &[&LaneChange], id: u64) -> Step<()> {
    if changes.is_dropped && !armed(Seeded::LetSleepersLie) && !armed(Seeded::UseForeignSlot) {
        memory.close();
    }
    if changes.rebuild {
        memory.state.phase = Phase::Stale;
    }
    if memory.state.phase == Phase::Stale {
        for &(_, _, since) in &changes.lost_rates {
            memory.scheduler.doubt_rates(since, server::now());
        }
        return memory.forget_reservations(ids(changes));
    }
    let counted = memory.rebuild_has_seen(id);
    let scheduler = &mut memory.scheduler;
    if changes.changes_settings() {
        scheduler.advance(server::now())?;
    }
    for &(kind, key, since) in &changes.lost_rates {
        scheduler.lose_rate(kind, key, since)?;
    }
    for &kind in &changes.defaults {
        scheduler.invalidate_kind(kind)?;
    }
    for &(kind, key) in &changes.settings {
        scheduler.invalidate_gate(kind, key)?;
        if kind == GateKind::Session {
            scheduler.expect_paused_sessions();
        }
    }
    // Room that passes from one job to the next is taken before it is given back.
    let (turns, runs): (Vec<_>, Vec<_>) = changes
        .reservations
        .iter()
        .partition(|reserved| reserved.is_turn);
    for reserved in runs {
        if counted {
            scheduler.commit_counted(reserved.id)?;
        } else {
            scheduler.commit(reserved.id)?;
        }
    }
    let starts = !counted && !armed(Seeded::CommitWithoutHold);
    for lane in changes.runs().filter(|lane| starts && lane.started > 0) {
        memory.make_room(0);
        memory.scheduler.hold(&lane.spec, lane.started)?;
    }
    // The jobs hold their sessions now.
    for turn in turns {
        memory.scheduler.commit_counted(turn.id)?;
    }
    lane_changes::commit(memory, lanes, counted)?;
    for (spec, position) in changes.kept_back() {
        memory.lower(&spec, position)?;
    }
    if !armed(Seeded::HideDueTime) {
        note_due(memory, &changes.next_due)?;
    }
    Ok(())
}

fn commit_leases(memory: &mut Locked, leases: LeasesPart) -> Step<()> {
    for change in leases.after_commit() {
        match change {
            Ok(_) if armed(Seeded::HideLease) => {}
            Ok(lease) => memory.note_lease(lease)?,
            Err(_) if armed(Seeded::KeepLease) => {}
            Err(run) => memory.scheduler.forget_lease(run)?,
        }
    }
    Ok(())
}

/// Ends the charges of new jobs, which are committed by now or were rolled back.
fn discharge(memory: &mut Locked, changes: &Level) {
    for charge in changes.charges.iter() {
        if memory.figures.discharge(charge.name, charge.jobs).is_err() {
            memory.figures.distrust();
        }
    }
    if changes.rebuild {
        memory.figures.distrust();
    }
}

fn undo_all(table: pg_sys::Oid, changes: &Level) {
    let first = |memory: &mut Locked, first: &First| undo(memory, changes, first.lanes);
    let lanes = |memory: &mut Locked, lanes: &[&LaneChange]| {
        unless_stale(memory, |memory| lane_changes::undo(memory, lanes))
    };
    let leases = undo_leases;
    parts::tell(table, changes, first, &Steps { lanes, leases });
}

fn undo(memory: &mut Locked, changes: &Level, lanes: &[&LaneChange]) -> Step<()> {
    if !armed(Seeded::KeepCharges) {
        discharge(memory, changes);
    }
    memory.state.gone.put_back(&changes.gone, after_failure());
    if !armed(Seeded::LoseFollowedUp) {
        let follow_ups = &mut memory.state.follow_ups;
        follow_ups.put_back_failed(&changes.followed_up, after_failure());
    }
    if changes.recurring && !armed(Seeded::LoseFiring) {
        memory.state.recurring.look_at(after_failure());
    }
    // What was read from tables that are now as they were before is no longer true, nor is what others made of it.
    if changes.rebuild {
        memory.state.phase = Phase::Stale;
    }
    if memory.state.phase == Phase::Stale {
        return memory.forget_reservations(ids(changes));
    }
    for reserved in &changes.reservations {
        memory.scheduler.abort(reserved.id)?;
    }
    for (spec, position) in changes.kept_back() {
        memory.lower(&spec, position)?;
    }
    lane_changes::undo(memory, lanes)?;
    if !armed(Seeded::LoseDueTime) {
        note_due(memory, &changes.due_taken)?;
    }
    if changes.takes_leases_outside {
        memory.scheduler.note_lease_outside(after_failure());
    }
    Ok(())
}

fn undo_leases(memory: &mut Locked, leases: LeasesPart) -> Step<()> {
    let mut leases = leases.after_abort();
    leases.try_for_each(|lease| memory.note_lease(lease))
}

fn note_due(memory: &mut Locked, times: &Earliest) -> Step<()> {
    let mut times = times.iter();
    times.try_for_each(|(queue, time)| memory.scheduler.note_due(queue, time))
}

/// What was begun at this nesting level or deeper was cut short: a rebuild has to be begun anew.
fn abandon(nesting: i32) {
    let (table, works) = pending::with(|pending| (pending.job_table(), pending.abandon(nesting)));
    for work in works {
        let _ = shmem::with_existing(table, |memory| {
            match &work {
                Work::Rebuild => memory.state.phase = Phase::Stale,
                Work::Count(generation) => memory.figures.give_up_count(*generation),
                Work::Promotion(queue, _) => return memory.scheduler.end_promotion(*queue),
                Work::Release(_) | Work::Claim(_) | Work::Fail(..) | Work::End(_) | Work::Stay => {}
            }
            Ok(())
        });
    }
}

/// A row that makes a rescue fail must not make every claim fail.
pub fn after_failure() -> i64 {
    server::now().saturating_add(server::SECOND)
}
