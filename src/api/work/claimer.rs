//! The arguments that all claiming calls have in common.

use crate::api::arguments::{check_lease, duration};
use crate::pg::call::{Call, arguments, required};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::runs::claimer::Claimer;
use crate::runs::owner;

arguments!(last_of_claims: WORKER, LEASE, BIND_TO_CONNECTION, WAIT);

/// Reads them; `first` is the place of the first one.
pub fn claimer(call: &Call, first: usize) -> Result<Claimer> {
    use last_of_claims::*;
    check_lease(call, first + LEASE)?;
    let bind = required(
        call.boolean(first + BIND_TO_CONNECTION),
        "bind_to_connection",
    )?;
    Ok(Claimer {
        worker: call.raw(first + WORKER),
        lease: call.interval(first + LEASE),
        owner: match bind {
            true => Some(owner::bind(catalog::job_table()?)),
            false => None,
        },
        wait: duration(call, first + WAIT, "wait")?,
    })
}
