//! Verbs for producers.

pub mod element;
pub mod enqueue;
pub mod enqueue_many;
pub mod enqueue_unique;
pub mod new_job;
pub mod recurring;
pub mod unique_key;
