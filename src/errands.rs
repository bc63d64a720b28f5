//! What claims do in passing, and who does it again if that was cut short.

use crate::error::Result;
use crate::pending::{self, Work};
use crate::plan::Spi;
use crate::rebuild::when_ready;
use crate::server;
use crate::shmem::{self, Phase};
use crate::{ageing, due, overflow, rescue};
use pgrx::pg_sys;

/// What claims do for the queue in passing: a live queue needs no other hand.
pub fn run(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64], most: usize) -> Result<()> {
    let (rescue, due, load, looks_at_sequence) = when_ready(spi, job_table, |memory| {
        memory.show_hidden()?;
        let load = overflow::duty(memory);
        let looks_at_sequence = ageing::duty(memory);
        Ok((
            rescue::duty(memory),
            due::duty(memory),
            load,
            looks_at_sequence,
        ))
    })?;
    if let Some(duty) = rescue {
        let scope = rescue::Scope::of_claim(queues, most);
        rescue::perform(spi, job_table, duty, &scope)?;
    }
    if let Some(due) = due {
        due::promote_for_claim(spi, job_table, &due, queues, most)?;
    }
    if let Some(load) = load {
        overflow::load(spi, job_table, &load)?;
    }
    if looks_at_sequence {
        ageing::look_at_sequence(job_table)?;
    }
    Ok(())
}

/// What was begun at this nesting level or deeper was cut short: a rebuild or a search has to be begun anew by somebody.
pub fn abandon(nesting: i32) {
    let (table, works) = pending::with(|pending| (pending.job_table, pending.abandon(nesting)));
    for work in works {
        let _ = shmem::with_existing(table, |memory| {
            match &work {
                Work::Rebuild => memory.desk.phase = Phase::Stale,
                Work::Count(generation) => memory.backlog.give_up_count(*generation),
                Work::Search(search) => {
                    memory.desk.leases.put_back(search, after_failure());
                    memory.desk.leases.end_search();
                }
                Work::Claim(_) | Work::Promotion(_) | Work::Stay => {}
            }
            Ok(())
        });
    }
}

/// If it is a row that makes a rescue fail, it shall not fail every claim.
pub fn after_failure() -> i64 {
    server::now().saturating_add(server::SECOND)
}
