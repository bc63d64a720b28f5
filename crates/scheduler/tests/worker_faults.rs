//! Each fault seeded in the list of workers must be noticed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod seeded;
mod worker_model;

use turnstile_scheduler::testing::faults::Seeded;

#[test]
fn every_seeded_fault_is_noticed() {
    seeded::each_is_noticed(Seeded::OF_WORKERS, worker_model::run);
}
