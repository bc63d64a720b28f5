//! How long a claim holds a job.

use crate::pg::server::LONGEST_TIME;
use pgrx::datum::Interval;

/// Whether it leaves the worker some time.
pub fn is_lease(lease: &Interval) -> bool {
    (1..=LONGEST_TIME).contains(&lease.as_micros())
}
