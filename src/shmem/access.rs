//! Locked sections: the lock of a database, steps on its memory, and what is due at their end.

use super::directory::{self, Guard};
use super::latches;
use super::locked::Locked;
use super::slots::{cached_slot, existing_slot, slot};
use super::window::{give_back_all, my_database, open};
use crate::pg::error::{Failure, Result, internal, no_room};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
#[cfg(feature = "fault_injection")]
use crate::pg::settings;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;
use turnstile_scheduler::{Fault, Step};

/// Runs steps on the memory of this database, giving it a slot if it has none.
pub fn with<R>(job_table: pg_sys::Oid, mut steps: impl FnMut(&mut Locked) -> Step<R>) -> Result<R> {
    loop {
        let slot = slot(job_table)?;
        if let Some(result) = run(slot, job_table, &mut steps)? {
            return Ok(result);
        }
    }
}

/// As [`with`], for commit and abort callbacks: without a slot there is nothing to keep right. What could not be done is
/// made up for by the next rebuild.
pub fn with_existing<R>(
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let slot = match cached_slot(job_table) {
        Some(slot) => Some(slot),
        None => existing_slot()?,
    };
    match slot {
        Some(slot) => run(slot, job_table, steps),
        None => Ok(None),
    }
}

/// None if the slot belongs to another extension by now.
fn run<R>(
    slot: usize,
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let is_own = |owner| owner == (my_database(), job_table);
    enter(
        slot,
        |owner| is_own(owner) || armed(Seeded::UseForeignSlot),
        steps,
    )
}

/// None if the slot is not the one that was meant. If a step fails or panics, the memory stays marked dirty and the
/// next use rebuilds it.
pub(super) fn enter<R>(
    slot: usize,
    is_meant: impl FnOnce((pg_sys::Oid, pg_sys::Oid)) -> bool,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let entry = directory::entry(slot)?;
    let guard = Guard::of(slot)?;
    let owner = entry.owner();
    if !is_meant(owner) {
        return Ok(None);
    }
    let mut locked = match open(slot) {
        Ok(locked) => locked,
        Err(refused) => {
            entry.has_missed_changes.store(true, Ordering::Release);
            return Err(refused);
        }
    };
    let is_dirty = std::mem::replace(&mut locked.state.dirty, true);
    let has_missed_changes = entry.has_missed_changes.swap(false, Ordering::AcqRel);
    if is_dirty | has_missed_changes {
        locked.distrust();
    }
    if has_missed_changes {
        locked.state.recurring.look_at(server::now());
    }
    locked.make_room(1);
    #[cfg(feature = "fault_injection")]
    turnstile_scheduler::testing::injection::arm(settings::panic_at());
    let outcome = steps(&mut locked);
    if outcome.is_err() {
        locked.distrust();
    }
    let outcome = match locked.wake_at_unlock() {
        Ok(()) => outcome,
        Err(fault) => Err(fault),
    };
    locked.call_patrol();
    let is_closed = entry.owner().1 == pg_sys::InvalidOid && entry.owner() != owner;
    let outcome = match outcome {
        Ok(result) if is_closed => locked.start_anew().map(|()| result),
        outcome => outcome,
    };
    if outcome.is_ok() {
        locked.state.dirty = false;
    }
    locked.tell_sizes();
    let calls = std::mem::take(&mut locked.calls);
    // A client that has listened does not ask again when the extension is made anew.
    let is_unused = is_closed && outcome.is_ok() && !locked.channels.is_any_listened_to();
    drop(locked);
    let given_back = match is_unused && !armed(Seeded::KeepMemoryOfDropped) {
        true => give_back_all(slot),
        false => Ok(()),
    };
    drop(guard);
    latches::ring(&calls);
    given_back?;
    outcome.map(Some).map_err(failure)
}

fn failure(fault: Fault) -> Failure {
    match fault {
        Fault::Full => no_room(
            "the limits of the running jobs",
            "The scheduler's arrays are full, and cannot be made longer.",
        ),
        Fault::Corrupt(what) => internal(format!("the scheduler's memory is damaged: {what}"))
            .hint("The next call rebuilds it from the tables; please report this."),
    }
}
