//! The notifier: what it asks of the memory of all databases, and what others ask of it.

#![allow(unsafe_code, reason = "opens memory that is locked")]

use super::segment::{self, Guard, open};
use super::{Locked, Phase, enter};
use crate::pg::error::Result;
use crate::pg::{server, settings};
use pgrx::pg_sys;
use std::ops::Range;
use turnstile_scheduler::Step;
use turnstile_scheduler::waiting::NEVER;

/// What listeners of a database must be told.
pub struct Owed {
    pub database: pg_sys::Oid,
    pub queues: Vec<u64>,
    /// When to look again without being asked.
    pub until: i64,
}

pub fn slots() -> Range<usize> {
    0..settings::max_databases()
}

pub fn begin_notifier(who: u32) -> Result<()> {
    for_each_slot(|memory| memory.channels.start_notifier(who))
}

pub fn end_notifier(who: u32) -> Result<()> {
    for_each_slot(|memory| memory.channels.stop_notifier(who))
}

/// Also visits slots that no database has yet.
fn for_each_slot(change: impl Fn(&mut Locked)) -> Result<()> {
    for slot in slots() {
        let _guard = Guard::acquire(slot + 1)?;
        // SAFETY: the slot's lock is held.
        change(&mut unsafe { open(slot) });
    }
    Ok(())
}

/// None if no database has the slot.
pub fn take_owed(slot: usize) -> Result<Option<Owed>> {
    if segment::peek(slot).0 == pg_sys::InvalidOid {
        return Ok(None);
    }
    enter(slot, |state| state.database != pg_sys::InvalidOid, take)
}

fn take(memory: &mut Locked) -> Step<Owed> {
    let now = server::now();
    memory.channels.clear_alarm();
    memory.note_wake_ups(now)?;
    let next_event = match memory.state.phase {
        Phase::Ready => memory.next_event(),
        // The rebuild's end alerts the notifier again.
        Phase::Stale | Phase::Rebuilding => NEVER,
    };
    let mut queues = Vec::new();
    let until = memory
        .channels
        .take_owed(now, next_event, |queue| queues.push(queue));
    Ok(Owed {
        database: memory.state.database,
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
