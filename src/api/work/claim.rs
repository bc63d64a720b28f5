//! `claim_next` and `claim`.

use crate::api::arguments::{bound, queue_keys, queue_to_claim};
use crate::api::work::claimer::claimer;
use crate::claims::or_wait::claim_or_wait;
use crate::pg::call::{Call, arguments, must_be_writable};
use crate::pg::error::Result;
use crate::pg::output::Output;
use crate::pg::spi::with_spi;
use pgrx::pg_sys::Datum;

arguments!(claim_next: QUEUE, WORKER, LEASE, BIND_TO_CONNECTION, WAIT);
arguments!(claim: QUEUES, MAX_JOBS, WORKER, LEASE, BIND_TO_CONNECTION, WAIT);

pub fn claim_next(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let queue = queue_to_claim(call.text(claim_next::QUEUE))?;
    let queues = [queue];
    let claimer = claimer(call, claim_next::WORKER, &queues)?;
    let mut output = Output::of(call);
    with_spi(|spi| claim_or_wait(spi, 1, &claimer, &mut output))?;
    Ok(None)
}

pub fn claim(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let queues = queue_keys(call, claim::QUEUES)?;
    let most = bound(call, claim::MAX_JOBS)?;
    let claimer = claimer(call, claim::WORKER, &queues)?;
    let mut output = Output::of(call);
    with_spi(|spi| claim_or_wait(spi, most, &claimer, &mut output))?;
    Ok(None)
}
