//! What claims do in passing for their own queues, so that a live queue needs no other process for it. A background worker
//! does it for queues that nobody claims from.

mod due; // what is due in the queues of a claim
mod empty_lanes; // lanes whose jobs are gone
pub mod follow_up; // jobs that wait for others
mod leases_outside; // leases for which memory had no room
pub mod on_demand;
mod orphans; // runs whose connection is gone
mod others; // queues without a slot in memory
mod promotion; // jobs whose time has come
mod rescue; // runs whose lease has ended
mod unfinished; // what a look could not see to
mod walk; // jobs of which memory has forgotten
pub mod worker; // queues that nobody claims from

use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::shmem::{FollowUp, Gone, Locked};
use crate::sync::rebuild::when_ready;
use crate::sync::{aging, overflow};
use crate::table::figures;
use crate::transaction;
use due::Effort;
use orphans::Scope;
use pgrx::pg_sys;
use turnstile_scheduler::{EVERY_QUEUE, Part, Picked};

/// Queues without a slot that one transaction of the worker sees to.
const QUEUES: usize = 100;
/// Runs that memory does not know and one transaction of the worker rescues: it reads all jobs to find them.
const RUNS_OUTSIDE: usize = 1_000;

/// What a claim has to do in passing.
struct Duties {
    gone: Option<Gone>,
    followed: Option<FollowUp>,
    is_due: bool,
    load: Option<Part>,
    empty_lanes: Vec<Picked>,
    looks_at_sequence: bool,
    counts: bool,
}

/// Does what is due for the queues of a claim.
pub fn run(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64], most: usize) -> Result<()> {
    let follow_up = follow_up::Effort::of_claim();
    let duties = when_ready(spi, job_table, |memory| {
        memory.bring_back(server::now())?;
        let load = overflow::duty(memory, queues)?;
        let looks_at_sequence = aging::duty(memory);
        Ok(Duties {
            gone: orphans::duty(memory),
            followed: follow_up::duty(memory, follow_up),
            is_due: is_due(memory),
            load,
            empty_lanes: empty_lanes::duty(memory)?,
            looks_at_sequence,
            counts: memory.figures.wants_count(),
        })
    })?;
    follow_up::note(job_table, duties.followed.as_ref());
    if let Some(gone) = duties.gone {
        orphans::perform(spi, job_table, gone, &Scope::of_claim(queues, most))?;
    }
    if let Some(followed) = duties.followed {
        follow_up::perform(spi, job_table, followed, follow_up)?;
    }
    if duties.is_due {
        due::see_to(spi, job_table, queues, Effort::of_claim(most))?;
    }
    if let Some(load) = duties.load {
        overflow::load(spi, job_table, &load)?;
    }
    empty_lanes::look(spi, job_table, &duties.empty_lanes)?;
    if duties.looks_at_sequence {
        aging::look_at_sequence(job_table)?;
    }
    if duties.counts {
        figures::count_unless_serializable(job_table)?;
    }
    Ok(())
}

/// Whether anything has fallen due in any queue.
fn is_due(memory: &Locked) -> bool {
    memory.scheduler.next_due() <= server::now()
}

/// For a process that sleeps between transactions: promotes and rescues for its queues.
pub fn see_to(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64]) -> Result<()> {
    due::see_to(spi, job_table, queues, Effort::of_worker())
}

/// What a bounded amount of work has left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    /// Jobs that wait for others, and no more.
    FollowUps,
    /// Recurring jobs.
    Firings,
    Due,
}

/// Jobs that wait for others, of all queues, a bounded amount. It locks jobs that could be claimed.
fn follow_up_all(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    let effort = follow_up::Effort::of_worker();
    let followed = when_ready(spi, job_table, |memory| Ok(follow_up::duty(memory, effort)))?;
    follow_up::note(job_table, followed.as_ref());
    match followed {
        Some(followed) => follow_up::perform(spi, job_table, followed, effort),
        None => Ok(()),
    }
}

/// All else for all queues, a bounded amount.
fn patrol(spi: &Spi, job_table: pg_sys::Oid) -> Result<Left> {
    let gone = when_ready(spi, job_table, |memory| Ok(orphans::duty(memory)))?;
    if let Some(gone) = gone {
        orphans::perform(spi, job_table, gone, &Scope::all(rescue::BATCH))?;
    }
    leases_outside::see_to(spi, job_table, RUNS_OUTSIDE)?;
    // Those that are left are still due, and are read again.
    for queue in others::read(spi, job_table)?.into_iter().take(QUEUES) {
        due::see_to(spi, job_table, &[queue], Effort::of_worker())?;
    }
    due::see_to(spi, job_table, &[EVERY_QUEUE], Effort::of_worker())?;
    empty_lanes::see_to(spi, job_table)?;
    when_ready(spi, job_table, |memory| {
        let now = server::now();
        // The commit of what was changed may bring more.
        let is_next = memory.state.follow_ups.next() <= now || transaction::has_id();
        Ok(match is_next {
            _ if memory.due_at() <= now => Left::Due,
            true => Left::FollowUps,
            false => Left::Nothing,
        })
    })
}
