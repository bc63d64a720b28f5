//! Each seeded fault in the figures must be noticed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod figures_model;
mod seeded;

use turnstile_scheduler::testing::faults::Seeded;

#[test]
fn every_seeded_fault_is_noticed() {
    seeded::each_is_noticed(Seeded::OF_FIGURES, figures_model::run);
}
