//! What statements give, and the looks at jobs that take several statements.

pub mod batches;
pub mod count;
pub mod ended;
pub mod failures;
pub mod job;
pub mod jobs;
mod look;
pub mod rest;
mod running;
pub mod source;
pub mod window;
