//! The arguments that all calls that claim have in common.

use crate::api::names::check_lease;
use crate::api::wait::duration;
use crate::call::{Call, required};
use crate::error::Result;
use crate::shmem::Owner;
use crate::{catalog, owner};
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;

/// Who claims, and for how long.
pub struct Claimer {
    pub worker: Option<Datum>,
    pub lease: Option<Interval>,
    pub owner: Option<Owner>,
    /// How many microseconds to sleep at most where there is nothing to claim.
    pub wait: Option<i64>,
}

impl Claimer {
    /// The last arguments of each call that claims: worker, lease, bind_to_connection, wait.
    pub fn of(call: &Call, first: usize) -> Result<Self> {
        check_lease(call, first + 1)?;
        let bind = required(call.boolean(first + 2), "bind_to_connection")?;
        Ok(Self {
            worker: call.raw(first),
            lease: call.interval(first + 1),
            owner: match bind {
                true => Some(owner::bind(catalog::job_table()?)),
                false => None,
            },
            wait: duration(call, first + 3, "wait")?,
        })
    }
}
