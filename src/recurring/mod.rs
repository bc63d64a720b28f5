//! Recurring jobs: when they fire, and that each firing enqueues one job.

mod civil; // days as the calendar counts them
mod due; // fires what is due
mod pattern; // when, without a time zone
mod times; // when, in a time zone

pub use due::{enqueue_one, fire, rest};
pub use times::Times;
