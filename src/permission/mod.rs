//! What the caller may do: `turnstile.permission` says on what, EXECUTE which calls. Superusers and the owner may do everything.
//!
//! A role without a row for all queues and tenants is told the same about a job that it may not touch as about one
//! that does not exist.

mod denied;
mod kept;
mod restricted;
mod rows;
mod verb;

pub use kept::register_callbacks;
pub use restricted::{Restricted, check, operate, restricted};
pub use rows::{job_changed, permissions_changed, route_changed, setting_changed};
pub use verb::Verb;

use crate::job::lane::EVERY_QUEUE;
use crate::job::queues;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::Spi;
use denied::{denied, denied_job};
use std::rc::Rc;

/// Whether the caller may add a job of this tenant to this queue, which is where the routes put it.
pub fn enqueue(queue: &str, tenant: Option<&str>) -> Result<()> {
    check(Verb::Enqueue, queue, tenant)
}

/// Whether the caller may claim from a queue, or from some: `*` stands for those.
pub fn claim(queue: &str) -> Result<()> {
    match restricted(Verb::Work)? {
        Some(caller) if queue == EVERY_QUEUE && caller.permissions.has_any(&[Verb::Work]) => Ok(()),
        Some(caller) => caller.check(queue, None),
        None => Ok(()),
    }
}

/// The same while a call goes on that has looked at the names: what the caller may do can have changed since.
pub fn claim_on(queues: &[u64]) -> Result<()> {
    let Some(caller) = restricted(Verb::Work)? else {
        return Ok(());
    };
    let permitted = caller.permissions.work_queues();
    let is_permitted = |queue: &&u64| match **queue {
        turnstile_scheduler::EVERY_QUEUE => !permitted.is_empty(),
        queue => permitted.binary_search(&queue).is_ok(),
    };
    match queues.iter().find(|queue| !is_permitted(queue)) {
        Some(&queue) => Err(denied(caller.role, Verb::Work, &queues::known(queue), None)),
        None => Ok(()),
    }
}

/// Whether the caller may work on some queue, or manage some jobs.
pub fn work_or_manage() -> Result<()> {
    match (restricted(Verb::Work)?, restricted(Verb::Manage)?) {
        (Some(caller), Some(_)) if !caller.permissions.has_any(&[Verb::Work, Verb::Manage]) => {
            caller.check(EVERY_QUEUE, Some(EVERY_QUEUE))
        }
        _ => Ok(()),
    }
}

/// Whether the caller may hear of jobs in a queue. Only a caller that may work on all queues may hear of all of them.
pub fn listen(queue: &str) -> Result<()> {
    check(Verb::Work, queue, None)
}

/// The queues that the caller may work on, in order; none if it may work on all.
pub fn work_queues() -> Result<Option<Rc<[u64]>>> {
    Ok(restricted(Verb::Work)?.map(|caller| caller.permissions.work_queues()))
}

/// Whether the caller may do this to a job, live or finished.
pub fn job(spi: &Spi, verb: Verb, job_id: i64) -> Result<()> {
    let Some(caller) = restricted(verb)? else {
        return Ok(());
    };
    match caller.allows_job(spi, job_id)? {
        true => Ok(()),
        false => Err(denied_job(caller.role, verb, job_id)),
    }
}

/// Does something to a job that the caller has to be permitted to manage, before and after: the transaction that had its lock may have given it to
/// another queue or tenant.
pub fn manage<R>(spi: &Spi, job_id: i64, act: impl FnOnce() -> Result<R>) -> Result<R> {
    job(spi, Verb::Manage, job_id)?;
    let done = act()?;
    if !armed(Seeded::ManageWhatWasMoved) {
        job(spi, Verb::Manage, job_id)?;
    }
    Ok(done)
}

/// Whether the caller may work on a job.
pub fn may_work(spi: &Spi, job_id: i64) -> Result<bool> {
    match restricted(Verb::Work)? {
        Some(caller) => caller.allows_job(spi, job_id),
        None => Ok(true),
    }
}

/// Whether the caller may know how a job fares: who may see it, and who may manage it without seeing what is in it.
pub fn job_outlook(spi: &Spi, job_id: i64) -> Result<()> {
    match may_know(spi, job_id)? {
        true => Ok(()),
        false => job(spi, Verb::See, job_id),
    }
}

/// The same of a job that is in the way of another.
pub fn may_know(spi: &Spi, job_id: i64) -> Result<bool> {
    for verb in [Verb::Manage, Verb::See] {
        match restricted(verb)? {
            Some(caller) if !caller.allows_job(spi, job_id)? => {}
            _ => return Ok(true),
        }
    }
    Ok(armed(Seeded::NameWhatIsInTheWay))
}

/// Those of some jobs that the caller may do something to, if its permissions say which.
pub fn only_allowed<'j, J>(
    spi: &Spi,
    jobs: &'j [J],
    read: impl Fn(&J) -> (i64, Option<&Restricted>),
) -> Result<Vec<&'j J>> {
    let mut allowed = Vec::with_capacity(jobs.len());
    for each in jobs {
        if let (job_id, Some(caller)) = read(each)
            && !caller.allows_job(spi, job_id)?
        {
            continue;
        }
        allowed.push(each);
    }
    Ok(allowed)
}

/// Whether one permission covers all jobs that a filter may choose.
pub fn filter(verb: Verb, (queue, tenant): (Option<&str>, Option<&str>)) -> Result<()> {
    let (queue, tenant) = (queue.unwrap_or(EVERY_QUEUE), tenant.unwrap_or(EVERY_QUEUE));
    check(verb, queue, Some(tenant))
}

/// Whether the caller may follow the jobs of all queues and tenants: who may see them, and who may manage them without seeing what is
/// in them. Tells whether it may see that, too.
pub fn follow() -> Result<bool> {
    let may_see = restricted(Verb::See)?.is_none();
    if !may_see {
        operate()?;
    }
    Ok(may_see)
}
