//! The arguments that all claiming calls have in common.

use crate::api::arguments::{check_lease, duration};
use crate::pg::call::{Call, arguments, clipped, required};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::runs::claimer::{Claimer, worker_key};
use crate::runs::owner;
use std::cell::Cell;
use turnstile_scheduler::workers::WORKER_NAME;

arguments!(last_of_claims: WORKER, LEASE, BIND_TO_CONNECTION, WAIT);

/// Reads them; `first` is the place of the first one.
pub fn claimer<'a>(call: &'a Call, first: usize, queues: &'a [u64]) -> Result<Claimer<'a>> {
    use last_of_claims::*;
    check_lease(call, first + LEASE)?;
    let bind = required(
        call.boolean(first + BIND_TO_CONNECTION),
        "bind_to_connection",
    )?;
    let name = call.text_bytes(first + WORKER);
    Ok(Claimer {
        worker: call.raw(first + WORKER),
        name: name.map(|name| clipped(name, WORKER_NAME)),
        key: worker_key(name),
        queues,
        not_noted: Cell::new(1),
        lease: call.interval(first + LEASE),
        owner: match bind {
            true => Some(owner::bind(catalog::job_table()?)),
            false => None,
        },
        wait: duration(call, first + WAIT, "wait")?,
    })
}
