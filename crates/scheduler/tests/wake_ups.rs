//! Waiting processes, producers and the clock in random order: no wake-up is lost, and none is wasted.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod random;
mod wake_up_model;

use random::run_seeds;
use wake_up_model::run;

const STEPS_A_RUN: u64 = 10_000;
const DEFAULT_STEPS: u64 = 10_000_000;

#[test]
fn no_wake_up_is_lost() {
    run_seeds(DEFAULT_STEPS, STEPS_A_RUN, run);
}
