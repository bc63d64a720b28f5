//! How long random tests run: `TURNSTILE_STEPS` steps, or `TURNSTILE_SEED` alone.

use std::ops::RangeInclusive;

pub fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number")),
    )
}

/// Runs a model so many steps, so many with each seed.
#[allow(
    dead_code,
    reason = "the tests of the scheduler count what their worlds have been through"
)]
pub fn run_seeds<R, E: std::fmt::Debug>(
    default_steps: u64,
    steps_each: u64,
    run: impl Fn(u64, u64) -> Result<R, E>,
) {
    let steps = setting("TURNSTILE_STEPS").unwrap_or(default_steps);
    for seed in seeds(steps, steps_each) {
        run(seed, steps_each).unwrap();
    }
}

/// The seeds with which so many steps are taken, so many with each.
pub fn seeds(steps: u64, steps_each: u64) -> RangeInclusive<u64> {
    match setting("TURNSTILE_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=(steps / steps_each).max(1),
    }
}
