//! What comes before a job, and who could take it.

use super::blocker::{Blocker, HOLDER, Reason};
use super::holders::comes_before;
use super::job::Waiting;
use crate::claims::next::{Next, first_in_lane, next_of};
use crate::claims::search::end_call;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use turnstile_scheduler::GateKind;

/// Whether another job comes first. A job that could start, and is not the one that the next claim takes, is behind; one
/// that is held up otherwise is behind as well if the other has the better rank.
pub fn behind(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &Waiting,
    could_start: bool,
) -> Result<Option<Blocker>> {
    let next = next_of(spi, job_table, job.spec.queue)?;
    end_call(job_table)?;
    if armed(Seeded::OverlookOrder) {
        return Ok(None);
    }
    let first = match next {
        Next::Job { id, .. } if id == job.id => return Ok(None),
        Next::Job { id, .. } if could_start => Some(id),
        Next::Job { id, spec, position } => {
            let own = (&job.spec, job.position);
            let is_first = comes_before(spi, job_table, (&spec, position), own)?;
            match is_first {
                true => Some(id),
                false => first_of_lane(spi, job_table, job)?,
            }
        }
        Next::Nobody => first_of_lane(spi, job_table, job)?,
        Next::Unknown => None,
    };
    let is_behind = first.is_some() || (could_start && matches!(next, Next::Unknown));
    let detail = format!(
        "In queue \"{}\", {HOLDER} comes before it, by priority, fair share or position.",
        job.queue
    );
    let blocker = Blocker::new(Reason::Behind, detail)
        .at(GateKind::Queue, Some(&job.queue))
        .because_of(first);
    Ok(is_behind.then_some(blocker))
}

/// The first job of its lane, if another one is. Of a session that is told by itself.
fn first_of_lane(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Option<i64>> {
    if job.spec.session != 0 || !job.is_available {
        return Ok(None);
    }
    let head = when_ready(spi, job_table, |memory| memory.scheduler.head_of(&job.spec))?;
    let first = first_in_lane(spi, &job.spec, head, job.position)?;
    Ok(first.map(|(id, _)| id))
}

/// Nobody has claimed from the queue lately, and nobody sleeps on it.
pub fn no_worker(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Option<Blocker>> {
    let queue = job.spec.queue;
    let (is_attended, running) = when_ready(spi, job_table, |memory| {
        memory.scheduler.advance(server::now())?;
        let is_claimed = memory.scheduler.is_claimed_lately(queue)?;
        let gate = memory.scheduler.gate_state(GateKind::Queue, queue)?;
        let running = gate.map_or(0, |gate| gate.held);
        Ok((is_claimed || memory.waiting.is_attended(queue), running))
    })?;
    if is_attended || armed(Seeded::OverlookAbsence) {
        return Ok(None);
    }
    let detail = format!(
        "No worker has claimed from queue \"{}\" in the last minute, and none waits for its jobs; {running} of them run.",
        job.queue
    );
    let blocker = Blocker::new(Reason::NoWorker, detail);
    Ok(Some(Blocker {
        running: Some(running),
        ..blocker.at(GateKind::Queue, Some(&job.queue))
    }))
}
