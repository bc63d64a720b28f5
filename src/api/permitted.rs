//! Claims of roles that may work on some queues only: `*` means those.
//!
//! What all of them would be by priority is found by comparing the next lane of each permitted queue, as a claim from every
//! queue does; then one job is taken from the queue that comes first, and so on. That is what as many calls of
//! `claim_next` return. A filter inside of the scheduler's pick would also have to reach the runner-up, the search for lanes
//! that are not in memory and the wake-ups, which all ask for one queue or for every one; roles that are limited to some queues
//! and claim hundreds of jobs from `*` at once are too rare for that.

use crate::api::claim::{claim_from, claim_one};
use crate::api::claimer::Claimer;
use crate::api::output::Output;
use crate::error::Result;
use crate::pending;
use crate::permission;
use crate::plan::Spi;
use crate::rebuild::when_ready;
use crate::{catalog, errands, limits, server};
use pgrx::pg_sys;
use std::borrow::Cow;
use turnstile_scheduler::{EVERY_QUEUE, FirstQueue};

/// Claims up to `most` jobs, the queues in the order given; returns how many.
pub fn claim(
    spi: &Spi,
    queues: &[u64],
    most: usize,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<usize> {
    let Some(permitted) = instead_of_all(queues)? else {
        return claim_from(spi, queues, most, claimer, output);
    };
    let mut taken = 0;
    for &queue in queues {
        let left = most.saturating_sub(taken);
        taken += match queue {
            EVERY_QUEUE => claim_by_priority(spi, &permitted, left, claimer, output)?,
            queue => claim_from(spi, &[queue], left, claimer, output)?,
        };
    }
    Ok(taken)
}

/// The queues that one who waits for these waits for.
pub fn awaited(queues: &[u64]) -> Result<Cow<'_, [u64]>> {
    let Some(permitted) = instead_of_all(queues)? else {
        return Ok(Cow::Borrowed(queues));
    };
    let mut meant: Vec<u64> = queues.iter().copied().chain(permitted).collect();
    meant.retain(|&queue| queue != EVERY_QUEUE);
    meant.sort_unstable();
    meant.dedup();
    Ok(Cow::Owned(meant))
}

/// What `*` stands for, if it is named and the caller may not work on all queues.
fn instead_of_all(queues: &[u64]) -> Result<Option<Vec<u64>>> {
    match queues.contains(&EVERY_QUEUE) {
        true => permission::work_queues(),
        false => Ok(None),
    }
}

fn claim_by_priority(
    spi: &Spi,
    permitted: &[u64],
    most: usize,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<usize> {
    let job_table = catalog::job_table()?;
    pending::with(|pending| pending.job_table = job_table);
    errands::run(spi, job_table, permitted, most)?;
    let mut candidates = permitted.to_vec();
    let mut taken = 0;
    while taken < most {
        let Some(queue) = first_of(spi, job_table, &candidates)? else {
            break;
        };
        match claim_one(spi, job_table, queue, claimer, output)? {
            Some(claimed) => taken += claimed,
            None => candidates.retain(|&each| each != queue),
        }
        pgrx::check_for_interrupts!();
    }
    // What is not in memory is looked for here, and listeners are told.
    let left = most.saturating_sub(taken);
    Ok(taken + claim_from(spi, permitted, left, claimer, output)?)
}

/// The queue whose next job comes first.
fn first_of(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64]) -> Result<Option<u64>> {
    loop {
        let mut credits = pending::with(|pending| pending.credits());
        let first = when_ready(spi, job_table, |memory| {
            memory
                .scheduler
                .first_queue(queues, server::now(), &mut credits)
        })?;
        match first {
            FirstQueue::Nothing => return Ok(None),
            FirstQueue::Queue(queue) => return Ok(Some(queue)),
            FirstQueue::Unknown(spec, gates) => limits::read(spi, job_table, &spec, &gates)?,
        }
    }
}
