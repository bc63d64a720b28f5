//! What claims do in passing, so that a live queue needs no other process for it.

pub mod promotion; // jobs whose time has come
pub mod rescue; // abandoned runs

use crate::pg::error::Result;
use crate::pg::spi::Spi;
use crate::sync::rebuild::when_ready;
use crate::sync::{aging, overflow};
use crate::table::backlog;
use pgrx::pg_sys;

/// Does what is due for the queues of a claim.
pub fn run(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64], most: usize) -> Result<()> {
    let (rescue, due, load, looks_at_sequence, counts) = when_ready(spi, job_table, |memory| {
        memory.bring_back()?;
        let load = overflow::duty(memory);
        let looks_at_sequence = aging::duty(memory);
        Ok((
            rescue::duty(memory),
            promotion::duty(memory),
            load,
            looks_at_sequence,
            memory.backlog.wants_count(),
        ))
    })?;
    if let Some(duty) = rescue {
        let scope = rescue::Scope::of_claim(queues, most);
        rescue::perform(spi, job_table, duty, &scope)?;
    }
    if let Some(due) = due {
        promotion::promote_for_claim(spi, job_table, &due, queues, most)?;
    }
    if let Some(load) = load {
        overflow::load(spi, job_table, &load)?;
    }
    if looks_at_sequence {
        aging::look_at_sequence(job_table)?;
    }
    if counts {
        backlog::count(job_table)?;
    }
    Ok(())
}
