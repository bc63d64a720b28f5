//! `promote` and `rescue`: what claims do for their own queues, for all queues and without waiting for its time.

use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::shmem::{self, Locked};
use crate::sync::rebuild::when_ready;
use crate::upkeep::{leases_outside, orphans, others, promotion, rescue};
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
        let promoted = promotion::perform(spi, job_table, &due, batch)?;
        Ok((promoted, promoted > 0))
    })
}

/// Rescues up to `most` runs.
pub fn rescue(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let outside = leases_outside::see_to(spi, job_table, most)?;
    // Runs that were locked, and those of a search that came to nothing, are tried again at once.
    let by = server::now().saturating_add(shmem::SEARCHED_AGAIN);
    let queues = when_ready(spi, job_table, |memory| {
        let is_due = |known: &DueView| known.next_lease <= by;
        let found = memory.scheduler.due_queues().filter(is_due);
        Ok(found.map(|known| known.queue).collect::<Vec<u64>>())
    })?;
    let inside = each(most - outside, rescue::BATCH, &queues, |queue, batch| {
        let batch = usize::try_from(batch).unwrap_or(0);
        let search = when_ready(spi, job_table, |memory| {
            memory.take_search(queue, by, batch)
        })?;
        let found = rescue::perform(spi, job_table, &search)?;
        Ok((found.rescued, found.rescued + found.ended > 0))
    })?;
    let rescued = outside + inside;
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

/// `work` says how many jobs it has done something to, and whether there may be more.
fn each(
    most: usize,
    batch: i64,
    queues: &[u64],
    mut work: impl FnMut(u64, i64) -> Result<(usize, bool)>,
) -> Result<usize> {
    let mut done = 0;
    for &queue in queues {
        while done < most {
            let left = i64::try_from(most - done).unwrap_or(batch);
            let (now, has_more) = work(queue, left.min(batch))?;
            done += now;
            if !has_more {
                break;
            }
            pgrx::check_for_interrupts!();
        }
    }
    Ok(done)
}
