//! Listeners, producers, the notifier and the clock in random order: nobody waits beside work, none is told twice.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod random;
mod tower;

use random::{seeds, setting};
use tower::run;

const STEPS_A_NIGHT: u64 = 10_000;
const DEFAULT_STEPS: u64 = 10_000_000;

#[test]
fn no_notification_is_lost() {
    let steps = setting("TURNSTILE_STEPS").unwrap_or(DEFAULT_STEPS);
    for seed in seeds(steps, STEPS_A_NIGHT) {
        run(seed, STEPS_A_NIGHT).unwrap();
    }
}
