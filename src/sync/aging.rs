//! Dates positions for the queues whose jobs gain priority while they wait.

use crate::job::numbers;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::{self, Locked, Numbers};
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use turnstile_scheduler::Sample;

static FIRST_POSITIONS: Statement = statement!("first_positions", []).that_reads_all();

/// A queue begins to age its jobs: jobs that already wait are as old as the tables say.
pub fn begin_calendar(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    if when_ready(spi, job_table, |memory| Ok(memory.scheduler.has_calendar()))? {
        return Ok(());
    }
    let rows = spi.run(&FIRST_POSITIONS, &[])?;
    let mut samples: Vec<Sample> = Vec::new();
    let mut newest = i64::MIN;
    for row in 0..rows.len() {
        let sample = Sample {
            time: rows.required(row, 1)?,
            position: rows.required(row, 2)?,
        };
        newest = newest.max(rows.required(row, 3)?);
        // From the last to the first: a position that was drawn before a later one is no younger.
        if samples
            .last()
            .is_none_or(|later| sample.position < later.position)
        {
            samples.push(sample);
        }
    }
    if armed(Seeded::ForgetAges) {
        samples.clear();
    }
    when_ready(spi, job_table, |memory| {
        let oldest_first = samples.iter().rev().copied();
        memory
            .scheduler
            .begin_calendar(server::now(), newest, oldest_first)
    })
}

/// Asked by every claim: from time to time it checks how far positions have been drawn.
pub fn duty(memory: &mut Locked) -> bool {
    if !memory.scheduler.has_calendar() {
        return false;
    }
    let now = server::now();
    let is_due = now.saturating_sub(memory.state.sequence_seen_at).abs() >= server::SECOND;
    if is_due {
        memory.state.sequence_seen_at = now;
    }
    is_due
}

/// A position that was set by hand, far behind all others, would otherwise make positions that are drawn from now on
/// count as old as it.
pub fn look_at_sequence(job_table: pg_sys::Oid) -> Result<()> {
    if armed(Seeded::TrustAnyPosition) {
        return Ok(());
    }
    let Some(last) = numbers::last(job_table, Numbers::Positions)? else {
        return Ok(());
    };
    shmem::with(job_table, |memory| memory.scheduler.note_last_drawn(last))
}
