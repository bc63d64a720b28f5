//! Sleepers, producers and the clock in random order: no wake-up is lost, and none is wasted.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod night;
mod random;

use night::run;
use random::{seeds, setting};

const STEPS_A_NIGHT: u64 = 10_000;
const DEFAULT_STEPS: u64 = 10_000_000;

#[test]
fn no_wake_up_is_lost() {
    let steps = setting("TURNSTILE_STEPS").unwrap_or(DEFAULT_STEPS);
    for seed in seeds(steps, STEPS_A_NIGHT) {
        run(seed, STEPS_A_NIGHT).unwrap();
    }
}
