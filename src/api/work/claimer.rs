//! The arguments that all calls that claim have in common.

use crate::api::arguments::{check_lease, duration};
use crate::pg::call::{Call, required};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::runs::claimer::Claimer;
use crate::runs::owner;

/// The last arguments of each call that claims: worker, lease, bind_to_connection, wait.
pub fn claimer(call: &Call, first: usize) -> Result<Claimer> {
    check_lease(call, first + 1)?;
    let bind = required(call.boolean(first + 2), "bind_to_connection")?;
    Ok(Claimer {
        worker: call.raw(first),
        lease: call.raw(first + 1),
        owner: match bind {
            true => Some(owner::bind(catalog::job_table()?)),
            false => None,
        },
        wait: duration(call, first + 3, "wait")?,
    })
}
