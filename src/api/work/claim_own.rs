//! `claim_own`, for tests in one transaction.

use crate::api::arguments::{bound, queue_keys};
use crate::claims::own;
use crate::permission;
use crate::pg::call::{Call, arguments, must_be_writable};
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::spi::with_spi;
use pgrx::pg_sys::Datum;
use turnstile_scheduler::EVERY_QUEUE;

arguments!(claim_own: QUEUES, MAX_JOBS, WORKER);

pub fn claim_own(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let mut queues = queue_keys(call, claim_own::QUEUES)?;
    let most = bound(call, claim_own::MAX_JOBS)?;
    if let Some(permitted) = permission::work_queues()?
        && queues.contains(&EVERY_QUEUE)
    {
        queues.retain(|&queue| queue != EVERY_QUEUE);
        queues.extend(permitted.iter());
    }
    let worker = call.raw(claim_own::WORKER);
    let mut output = Output::of(call);
    with_spi(|spi| own::claim_own(spi, &queues, most, worker, &mut output))?;
    Ok(None)
}
