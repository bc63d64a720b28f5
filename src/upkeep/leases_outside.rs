//! Leases for which memory had no room. They are read from the table as a whole, so no claim does it, and it takes a small share of the time.

use crate::job::tables;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::{self, SECOND};
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::Spi;
use crate::shmem::{self, Search};
use crate::sync::leases;
use crate::sync::rebuild::when_ready;
use crate::transaction::pending;
use crate::upkeep::rescue;
use pgrx::pg_sys;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{LeaseView, RunId};

/// Leases that are noted while the lock is held once.
const AT_ONCE: usize = 1_000;
/// The table is left alone for so many times as long as it was read.
const REST: i64 = 9;

/// If the first of these leases has ended, looks for room for them, and rescues up to `most` runs for which there is none; returns how
/// many.
pub fn see_to(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let begun = server::now();
    let is_due = when_ready(spi, job_table, |memory| {
        let is_due = memory.scheduler.leases_outside() <= begun && most > 0;
        if is_due {
            memory.scheduler.take_leases_outside();
        }
        Ok(is_due)
    })?;
    if !is_due || armed(Seeded::LeaveOutside) {
        return Ok(0);
    }
    pending::note(job_table, |level| level.takes_leases_outside = true);
    let runs = read(spi, job_table, begun, most)?;
    let search = Search { runs, again: NEVER };
    let rescued = rescue::perform(spi, job_table, &search)?.rescued;
    let now = server::now();
    let rest = now.saturating_sub(begun).saturating_mul(REST).max(SECOND);
    shmem::with(job_table, |memory| {
        let next = memory.scheduler.leases_outside();
        memory.scheduler.take_leases_outside();
        let next = next.max(now.saturating_add(rest));
        memory.scheduler.note_lease_outside(next);
        Ok(())
    })?;
    Ok(rescued)
}

/// Notes all leases. Returns runs for which there is no room, and whose lease has ended.
fn read(spi: &Spi, job_table: pg_sys::Oid, now: i64, most: usize) -> Result<Vec<RunId>> {
    tables::lock(job_table)?;
    let snapshot = Snapshot::take();
    let (mut part, mut expired) = (Vec::with_capacity(AT_ONCE), Vec::new());
    leases::visit(spi, job_table, &snapshot, |lease| {
        part.push(lease);
        match part.len() < AT_ONCE {
            true => Ok(()),
            false => note(job_table, &mut part, &mut expired, now),
        }
    })?;
    note(job_table, &mut part, &mut expired, now)?;
    expired.truncate(most);
    Ok(expired)
}

fn note(
    job_table: pg_sys::Oid,
    part: &mut Vec<LeaseView>,
    expired: &mut Vec<RunId>,
    now: i64,
) -> Result<()> {
    shmem::with(job_table, |memory| {
        for lease in part.iter() {
            memory.note_lease(lease)?;
            if lease.time <= now && !memory.scheduler.has_lease(lease.run)? {
                expired.push(lease.run);
            }
        }
        Ok(())
    })?;
    part.clear();
    Ok(())
}
