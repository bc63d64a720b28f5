//! Claims: which lane is next, and which of its jobs.

pub mod next; // without taking it
pub mod or_wait; // a claim that sleeps where there is nothing
pub mod own; // of jobs that are not committed
mod pass_over; // a lane with nothing to take
pub mod permitted; // claims of callers who may not work on all queues
mod pick; // which lane is next, with room reserved in it
pub mod search; // lanes, one after the other, and their jobs
mod seen; // who claims
