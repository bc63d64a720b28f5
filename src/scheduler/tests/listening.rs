//! Listeners, producers, the notifier and the clock in random order: nobody waits beside work, none is told twice.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod tower;

use tower::run;

const STEPS_A_NIGHT: u64 = 10_000;
const DEFAULT_STEPS: u64 = 10_000_000;

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number")),
    )
}

#[test]
fn no_notification_is_lost() {
    let steps = setting("TURNSTILE_STEPS").unwrap_or(DEFAULT_STEPS);
    let seeds = match setting("TURNSTILE_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=(steps / STEPS_A_NIGHT).max(1),
    };
    for seed in seeds {
        run(seed, STEPS_A_NIGHT).unwrap();
    }
}
