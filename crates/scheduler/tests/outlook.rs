//! What is said of what waits, and of how fast it goes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod outlook_model;
mod random;
mod world;

use random::seeds;

const STEPS: u64 = 400;

#[test]
fn what_comes_first_and_who_claims_is_known() {
    for seed in seeds(40_000, STEPS) {
        if let Err(error) = outlook_model::run(seed, STEPS) {
            panic!("seed {seed}: {error}");
        }
    }
}
