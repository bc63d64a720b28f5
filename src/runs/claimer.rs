//! The worker that claims, and for how long.

use crate::shmem::Owner;
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;

/// What a claiming call says about its worker.
pub struct Claimer {
    pub worker: Option<Datum>,
    pub lease: Option<Interval>,
    pub owner: Option<Owner>,
    /// How many microseconds to sleep at most where there is nothing to claim.
    pub wait: Option<i64>,
}
