//! Each seeded fault in what is said of what waits must be noticed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod outlook_model;
mod seeded;
mod world;

use turnstile_scheduler::testing::faults::Seeded;

#[test]
fn every_seeded_fault_is_noticed() {
    seeded::each_is_noticed(Seeded::OF_LOOKING, outlook_model::run);
}
