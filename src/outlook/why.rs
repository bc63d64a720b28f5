//! Every reason why a job waits.

use super::blocker::{HOLDER, Reason};
use super::circle::Search;
use super::job::Waiting;
use super::{blocked, gates, holders, order};
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::sync::rebuild::when_ready;
use crate::table::locked::{Hold, hold_of};
use pgrx::pg_sys;
use turnstile_scheduler::GateKind;

pub use super::blocker::{Blocker, name_of};

/// What keeps the job from being the one that the next claim from its queue takes; nothing if it is that.
pub fn blockers(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &Waiting,
    circles: &mut Search,
) -> Result<Vec<Blocker>> {
    let mut found = lasting(spi, job_table, job)?;
    let waits_for_jobs = found.iter().any(|blocker| blocker.reason.is_of_jobs());
    let behind = waits_for_jobs
        .then(|| circles.behind(job, &found))
        .transpose()?;
    if let Some((reason, circle)) = behind.flatten() {
        let mut blockers = found.iter_mut();
        if let Some(blocker) = blockers.find(|blocker| blocker.reason == reason) {
            blocker.circle = Some(circle);
        }
    }
    let could_start = found.is_empty();
    found.extend(order::behind(spi, job_table, job, could_start)?);
    found.extend(order::no_worker(spi, job_table, job)?);
    Ok(found)
}

/// What keeps it from starting however many are claimed.
fn lasting(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Vec<Blocker>> {
    let mut found = Vec::new();
    match job.is_blocked {
        true => found.extend(blocked::blockers(spi, job)?),
        false => found.extend(put_off(job)),
    }
    found.extend(locked(job)?);
    for state in gates::states(spi, job_table, job)? {
        found.extend(gates::blockers(spi, job_table, job, &state)?);
    }
    found.extend(turn(spi, job_table, job)?);
    found.extend(outside(spi, job_table, job)?);
    Ok(found)
}

/// It has to become available first.
fn put_off(job: &Waiting) -> Option<Blocker> {
    if job.is_available {
        return None;
    }
    let reason = match job.is_retryable {
        true => Reason::Retry,
        false => Reason::Scheduled,
    };
    let detail = match (job.run_at <= server::now(), reason) {
        (true, _) => "It is due, and the next claim from its queue makes it available.",
        (false, Reason::Retry) => "It has failed, and its next attempt is not due before opens_at.",
        (false, _) => "It is not due before opens_at.",
    };
    Some(Blocker::new(reason, detail).until(Some(job.run_at)))
}

fn locked(job: &Waiting) -> Result<Option<Blocker>> {
    let detail = match hold_of(job.id)? {
        Hold::Free => return Ok(None),
        Hold::Own => "This transaction has added or changed it, and has not been committed.",
        Hold::Locked => "A transaction that is still open has claimed, changed or locked it.",
    };
    Ok(Some(Blocker::new(Reason::Locked, detail)))
}

/// In a session, jobs start in order, whatever holds up the first.
fn turn(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Option<Blocker>> {
    if job.spec.session == 0 || !job.is_available || armed(Seeded::OverlookTurn) {
        return Ok(None);
    }
    let Some(first) = holders::first_of_session(spi, job_table, job)? else {
        return Ok(None);
    };
    let detail = format!("In its session, {HOLDER} comes first.");
    let blocker = Blocker::new(Reason::SessionOrder, detail)
        .at(GateKind::Session, job.session.as_deref())
        .because_of(Some(first));
    Ok(Some(blocker))
}

fn outside(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Option<Blocker>> {
    if !job.is_available {
        return Ok(None);
    }
    let is_outside = when_ready(spi, job_table, |memory| {
        let scheduler = &memory.scheduler;
        Ok(!scheduler.has_lane(&job.spec)? && scheduler.may_be_outside(&job.spec)?)
    })?;
    let detail = "Its lane has found no room in the scheduler's memory. Claims read such lanes from the tables in turn.";
    Ok(is_outside.then(|| Blocker::new(Reason::OutsideMemory, detail)))
}
