//! How long a claim holds a job.

use crate::job::queue_settings;
use crate::pg::error::Result;
use crate::pg::server::LONGEST_TIME;
use pgrx::datum::Interval;
use turnstile_scheduler::Picked;

/// Whether it leaves the worker some time.
pub fn is_lease(lease: &Interval) -> bool {
    (1..=LONGEST_TIME).contains(&lease.as_micros())
}

/// The lease of the picked lane's queue, of which the pick has noted whose row of settings holds.
pub fn of_queue(picked: &Picked) -> Result<Interval> {
    Ok(queue_settings::committed(picked.settings_of)?.lease)
}
