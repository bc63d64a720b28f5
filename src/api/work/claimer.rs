//! The arguments that all claiming calls have in common.

use crate::api::arguments::{check_lease, duration};
use crate::pg::call::{Call, arguments, clipped, required};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::runs::claimer::{Claimer, worker_key};
use crate::runs::kept::Keeps;
use crate::runs::owner;
use std::cell::Cell;
use turnstile_scheduler::workers::WORKER_NAME;

arguments!(last_of_claims: WORKER, LEASE, BIND_TO_CONNECTION, WAIT);

/// Reads them; `first` is the place of the first one.
pub fn claimer<'a>(call: &'a Call, first: usize, queues: &'a [u64]) -> Result<Claimer<'a>> {
    let bind = call.boolean(first + last_of_claims::BIND_TO_CONNECTION);
    made_of(call, first, queues, required(bind, "bind_to_connection")?)
}

/// The same of a call that ends runs before it claims: what is NULL is kept of those.
pub fn follower<'a>(
    call: &'a Call,
    first: usize,
    queues: &'a [u64],
) -> Result<(Claimer<'a>, Keeps)> {
    use last_of_claims::*;
    let bind = call.boolean(first + BIND_TO_CONNECTION);
    let keeps = Keeps {
        worker: call.raw(first + WORKER).is_none(),
        lease: call.raw(first + LEASE).is_none(),
        binding: bind.is_none(),
    };
    Ok((made_of(call, first, queues, bind == Some(true))?, keeps))
}

fn made_of<'a>(call: &'a Call, first: usize, queues: &'a [u64], bind: bool) -> Result<Claimer<'a>> {
    use last_of_claims::*;
    check_lease(call, first + LEASE)?;
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
