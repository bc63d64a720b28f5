//! Claims: which lane is next, and which of its jobs.

pub mod next; // without taking it
pub mod or_wait;
pub mod permitted; // claims of callers who may not work on all queues
pub mod search; // lanes, one after the other // a claim that sleeps where there is nothing
