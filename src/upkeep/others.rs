//! Queues for whose times memory had no slot.

use crate::job::queues::{self, FirstTime};
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::sync::rebuild::when_ready;
use crate::transaction::pending;
use pgrx::pg_sys;
use turnstile_scheduler::EVERY_QUEUE;

/// Queues that are noted while the lock is held once.
const AT_ONCE: usize = 1_000;

/// If a queue without a slot has fallen due, reads the times of all queues, and returns those that are due and still without
/// a slot.
pub fn read(spi: &Spi, job_table: pg_sys::Oid) -> Result<Vec<u64>> {
    let now = server::now();
    let is_due = when_ready(spi, job_table, |memory| {
        let is_due = memory.scheduler.others_due() <= now;
        if is_due {
            memory.scheduler.take_others();
        }
        Ok(is_due)
    })?;
    if !is_due {
        return Ok(Vec::new());
    }
    pending::note(job_table, |level| {
        level.due_taken.note(EVERY_QUEUE, Some(now))
    });
    note(spi, job_table, &queues::first_due(spi)?)
}

fn note(spi: &Spi, job_table: pg_sys::Oid, times: &[FirstTime]) -> Result<Vec<u64>> {
    let now = server::now();
    let mut due = Vec::new();
    for part in times.chunks(AT_ONCE) {
        when_ready(spi, job_table, |memory| {
            for first in part {
                let is_known = memory.scheduler.has_times(first.queue)?;
                if !is_known {
                    memory.scheduler.note_due(first.queue, first.time)?;
                }
                if first.time <= now && !memory.scheduler.has_times(first.queue)? {
                    due.push(first.queue);
                }
            }
            Ok(())
        })?;
    }
    Ok(due)
}
