//! Claims of roles that may work on some queues only: `*` means those.
//!
//! A claim from `*` is by priority over all queues that the caller may work on. So the scheduler's pick is told these
//! queues, and passes others over where it compares queues: the next lane and the runner-up are those of a claim from
//! every queue, if only these existed. Sleeping and listening name the queues one by one, so that no process is woken
//! for a job that it may not claim.

use crate::claims::search::{claim_among, claim_from};
use crate::permission;
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::Spi;
use crate::pg::{catalog, server};
use crate::runs::claimer::Claimer;
use crate::sync::rebuild::when_ready;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use turnstile_scheduler::EVERY_QUEUE;

/// For how long a claim from many queues counts as one from each, in microseconds: shorter than what counts as lately.
const NOTED_FOR: i64 = 10 * server::SECOND;
const NOTED_AT_ONCE: usize = 1_000;

/// Claims up to `most` jobs, from the queues that the call names, in order; returns how many.
pub fn claim(spi: &Spi, most: usize, claimer: &Claimer, output: &mut Output) -> Result<usize> {
    let queues = claimer.queues;
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

/// The queues that a claim from these waits for, as long as the caller may claim from them.
pub fn awaited(queues: &[u64]) -> Result<Cow<'_, [u64]>> {
    if !armed(Seeded::TrustThePermission) {
        permission::claim_on(queues)?;
    }
    let Some(permitted) = instead_of_all(queues)? else {
        return Ok(Cow::Borrowed(queues));
    };
    let mut meant: Vec<u64> = queues.iter().chain(&*permitted).copied().collect();
    meant.retain(|&queue| queue != EVERY_QUEUE);
    meant.sort_unstable();
    meant.dedup();
    Ok(Cow::Owned(meant))
}

/// What `*` stands for, in order, if it is named and the caller may not work on all queues.
fn instead_of_all(queues: &[u64]) -> Result<Option<Rc<[u64]>>> {
    match queues.contains(&EVERY_QUEUE) {
        true => permission::work_queues(),
        false => Ok(None),
    }
}

fn claim_by_priority(
    spi: &Spi,
    permitted: &Rc<[u64]>,
    most: usize,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<usize> {
    let taken = claim_among(spi, permitted, most, claimer, output)?;
    note_claims(spi, permitted)?;
    // What is not in memory is looked for here, and listeners are notified.
    let left = most.saturating_sub(taken);
    Ok(taken + claim_from(spi, permitted, left, claimer, output)?)
}

/// Has `turnstile.why_waiting` know that all of the queues are claimed from, also those in which nothing is found. Not with each
/// claim, as there may be many queues.
fn note_claims(spi: &Spi, queues: &[u64]) -> Result<()> {
    thread_local! {
        static NOTED_AT: Cell<i64> = const { Cell::new(i64::MIN) };
    }
    let now = server::now();
    if NOTED_AT.get().saturating_add(NOTED_FOR) > now {
        return Ok(());
    }
    NOTED_AT.set(now);
    let job_table = catalog::job_table()?;
    for some in queues.chunks(NOTED_AT_ONCE) {
        when_ready(spi, job_table, |memory| {
            memory.scheduler.note_claims(some, server::now())
        })?;
    }
    Ok(())
}
