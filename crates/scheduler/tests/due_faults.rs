//! Each fault seeded in the times of queues must be noticed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod due_model;
mod seeded;

use turnstile_scheduler::testing::faults::Seeded;

#[test]
fn every_seeded_fault_is_noticed() {
    seeded::each_is_noticed(Seeded::OF_DUE_TIMES, due_model::run);
}
