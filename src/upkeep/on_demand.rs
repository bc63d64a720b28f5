//! `promote` and `rescue`: what claims do for their own queues, for all queues and without waiting for its time.

use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::shmem::Locked;
use crate::sync::rebuild::when_ready;
use crate::upkeep::rescue::Ahead;
use crate::upkeep::{orphans, others, promotion, rescue};
use pgrx::pg_sys;
use turnstile_scheduler::{DueView, Step};

/// Promotes up to `most` jobs.
pub fn promote(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let queues = queues(spi, job_table, most, |memory, now| {
        let is_due = |known: &DueView| known.due_floor.is_none_or(|[time, _]| time <= now);
        let found = memory.scheduler.due_queues().filter(is_due);
        found.map(|known| known.queue).collect()
    })?;
    each(most, promotion::BATCH, &queues, |queue, batch| {
        let due = when_ready(spi, job_table, |memory| promotion::take(memory, queue))?;
        promotion::perform(spi, job_table, &due, batch)
    })
}

/// Rescues up to `most` runs.
pub fn rescue(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let queues = queues(spi, job_table, most, |memory, now| {
        let is_due = |known: &DueView| known.lease_floor.is_none_or(|time| time <= now);
        let found = memory.scheduler.due_queues().filter(is_due);
        let mut queues: Vec<u64> = found.map(|known| known.queue).collect();
        queues.extend(memory.stragglers().map(|run| run.queue));
        queues.sort_unstable();
        queues.dedup();
        queues
    })?;
    let rescued = each(most, rescue::BATCH, &queues, |queue, batch| {
        let search = when_ready(spi, job_table, |memory| memory.take_search(queue))?;
        rescue::perform(spi, job_table, &search, batch, Ahead::Far)
    })?;
    Ok(rescued + orphans::on_demand(spi, job_table, most - rescued)?)
}

/// The queues in which something may be due.
fn queues(
    spi: &Spi,
    job_table: pg_sys::Oid,
    most: usize,
    mut find: impl FnMut(&Locked, i64) -> Vec<u64>,
) -> Result<Vec<u64>> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let without_slots = others::read(spi, job_table)?;
    let mut queues = when_ready(spi, job_table, |memory| -> Step<Vec<u64>> {
        Ok(find(memory, server::now()))
    })?;
    queues.extend(without_slots);
    Ok(queues)
}

fn each(
    most: usize,
    batch: i64,
    queues: &[u64],
    mut work: impl FnMut(u64, i64) -> Result<usize>,
) -> Result<usize> {
    let mut done = 0;
    for &queue in queues {
        while done < most {
            let left = i64::try_from(most - done).unwrap_or(batch);
            let now = work(queue, left.min(batch))?;
            if now == 0 {
                break;
            }
            done += now;
            pgrx::check_for_interrupts!();
        }
    }
    Ok(done)
}
