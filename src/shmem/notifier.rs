//! The notifier: what it asks of the memory of all databases, and what others ask of it.

use super::access::enter;
use super::directory::{self, Guard, anchor};
use super::locked::Locked;
use super::state::Phase;
use super::window::open;
use crate::pg::error::Result;
use crate::pg::server;
use pgrx::pg_sys;
use std::ops::Range;
use std::sync::atomic::Ordering;
use turnstile_scheduler::Step;
use turnstile_scheduler::times::NEVER;

/// What listeners of a database must be told.
pub struct Owed {
    pub database: pg_sys::Oid,
    pub queues: Vec<u64>,
    /// When to look again without being asked.
    pub until: i64,
}

pub fn slots() -> Range<usize> {
    0..directory::count()
}

pub fn begin_notifier(who: u32) -> Result<()> {
    anchor()?.notifier.store(who, Ordering::Release);
    for_each_slot(|memory| memory.channels.start_notifier(who))
}

pub fn end_notifier(who: u32) -> Result<()> {
    let notifier = &anchor()?.notifier;
    let _ = notifier.compare_exchange(who, 0, Ordering::AcqRel, Ordering::Acquire);
    for_each_slot(|memory| memory.channels.stop_notifier(who))
}

/// Memory that has no pages yet asks who the notifier is when it gets them.
fn for_each_slot(change: impl Fn(&mut Locked)) -> Result<()> {
    for slot in slots() {
        let _guard = Guard::of(slot)?;
        if directory::entry(slot)?.is_backed() {
            change(&mut open(slot)?);
        }
    }
    Ok(())
}

/// A worker has come to its end in a database.
pub fn end_visit(database: pg_sys::Oid) {
    if let Ok(anchor) = anchor() {
        anchor.visited.store(database.into(), Ordering::Release);
    }
}

/// The database in which a worker came to its end last.
pub fn visited() -> Result<pg_sys::Oid> {
    Ok(anchor()?.visited.load(Ordering::Acquire).into())
}

/// Whether the memory of a database knows when its recurring jobs are due.
pub fn knows_recurring(slot: usize) -> Result<bool> {
    let known = change_used(slot, |memory| Ok(memory.state.recurring.is_known()))?;
    Ok(known == Some(true))
}

/// None if no database has the slot.
pub fn take_owed(slot: usize) -> Result<Option<Owed>> {
    let entry = directory::entry(slot)?;
    if !entry.is_backed() {
        return Ok(None);
    }
    let is_used = |owner: (pg_sys::Oid, _)| owner.0 != pg_sys::InvalidOid;
    enter(slot, is_used, |memory| take(memory, entry.owner().0))
}

fn take(memory: &mut Locked, database: pg_sys::Oid) -> Step<Owed> {
    let now = server::now();
    memory.channels.clear_alarm();
    memory.note_wake_ups(now)?;
    let next_event = match memory.state.phase {
        Phase::Ready => memory.next_event(),
        // The rebuild's end alerts the notifier again.
        Phase::Stale | Phase::Rebuilding => NEVER,
    };
    let mut queues = Vec::new();
    let next_time = memory.first_time(memory.channels.armed_for(), now);
    let until = memory
        .channels
        .take_owed(now, next_event, next_time, |queue| queues.push(queue));
    Ok(Owed {
        database,
        queues,
        until,
    })
}

pub fn note_sent(slot: usize) -> Result<()> {
    enter(
        slot,
        |_| true,
        |memory| {
            memory.channels.mark_sent();
            Ok(())
        },
    )
    .map(drop)
}

/// Gives back memory that a database does not need.
pub fn tidy(slot: usize) -> Result<()> {
    change_used(slot, |memory| memory.tidy()).map(drop)
}

/// Whether something has found no memory since the last call.
pub fn take_lack(slot: usize) -> Result<bool> {
    let lack = &directory::entry(slot)?.lacks_memory;
    Ok(lack.swap(false, Ordering::AcqRel))
}

/// The limit of memory was lowered. The next rebuild keeps to it.
pub fn start_smaller(slot: usize) -> Result<()> {
    let started = change_used(slot, |memory| {
        memory.ask_for_rebuild();
        Ok(())
    });
    started.map(drop)
}

/// None if no database has the slot.
pub(super) fn change_used<R>(
    slot: usize,
    change: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    match directory::entry(slot)?.is_backed() {
        true => enter(slot, |owner| owner.1 != pg_sys::InvalidOid, change),
        false => Ok(None),
    }
}

/// The database that has a slot.
pub fn database_of(slot: usize) -> Result<pg_sys::Oid> {
    Ok(directory::entry(slot)?.owner().0)
}
