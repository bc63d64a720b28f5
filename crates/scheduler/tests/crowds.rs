//! Who leaves when memory is full.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod crowd_model;
mod random;
mod world;

use random::{seeds, setting};

const STEPS_A_CROWD: u64 = 2_000;
const DEFAULT_STEPS: u64 = 100_000;

#[test]
fn lanes_leave_by_who_has_the_most_and_none_is_lost() {
    let steps = setting("TURNSTILE_STEPS").unwrap_or(DEFAULT_STEPS);
    for seed in seeds(steps, STEPS_A_CROWD) {
        if let Err(error) = crowd_model::run(seed, STEPS_A_CROWD) {
            panic!("{error}");
        }
    }
}
