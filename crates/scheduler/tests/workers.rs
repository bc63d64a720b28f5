//! The workers that were seen last, in random order, and names that are long.
//!
//! `TURNSTILE_STEPS` sets how many steps the test takes, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod random;
mod worker_model;

use random::run_seeds;
use turnstile_scheduler::workers::{Name, QUEUE_NAME, WORKER_NAME};
use worker_model::run;

const STEPS_A_RUN: u64 = 10_000;
const DEFAULT_STEPS: u64 = 1_000_000;

#[test]
fn those_who_were_seen_last_are_known() {
    run_seeds(DEFAULT_STEPS, STEPS_A_RUN, run);
}

#[test]
fn a_name_is_kept_as_far_as_there_is_room() {
    let mut name = Name::<WORKER_NAME>::EMPTY;
    for length in [1, WORKER_NAME - 1, WORKER_NAME, WORKER_NAME + 1, 1_000, 0] {
        let long = vec![b'x'; length];
        name.set(&long);
        assert_eq!(name.get(), &long[..length.min(WORKER_NAME)]);
        assert_eq!(name.is_empty(), length == 0);
    }
    let mut name = Name::<QUEUE_NAME>::EMPTY;
    name.set(&[b'q'; 255]);
    assert_eq!(name.get().len(), 255);
}
