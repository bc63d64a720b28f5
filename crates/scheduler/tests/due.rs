//! The times of queues in random order: what is noted is never lost, and what is known is what a plain table would say.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod due_model;
mod random;

use due_model::run;
use random::run_seeds;

const STEPS_A_RUN: u64 = 10_000;
const DEFAULT_STEPS: u64 = 1_000_000;

#[test]
fn no_time_is_lost() {
    run_seeds(DEFAULT_STEPS, STEPS_A_RUN, run);
}
