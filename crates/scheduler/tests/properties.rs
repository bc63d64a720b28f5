//! The scheduler against a naive model, over random operations.
//!
//! `TURNSTILE_STEPS` sets how many steps all tests take together, `TURNSTILE_SEED` runs one seed only.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod random;
mod world;

use rand::rngs::SmallRng;
use random::{seeds, setting};
use world::run::run;
use world::shape::Shape;
use world::tally::Tally;

const STEPS_A_WORLD: u64 = 4_000;
const DEFAULT_STEPS: u64 = 1_000_000;

/// What the default run must have been through.
const SITUATIONS: [&str; 37] = [
    "abort",
    "calendar begun from the table",
    "callback cut short",
    "claim alone that found something",
    "claim undone before a pick",
    "claim undone before it looks ahead",
    "claim undone before its query",
    "claim undone before its snapshot",
    "claim undone before settling",
    "charge that is taken back",
    "claim undone while reading limits",
    "commit counted by a rebuild",
    "locked job passed over",
    "limit read in vain",
    "look at a lane that its session waits for",
    "part of the tables that a claim looks at",
    "memory grown",
    "memory refused",
    "memory shrunk",
    "pick while a batch was closed",
    "pick while a bucket was empty",
    "pick while a session was in several batches",
    "pick while a session was paused",
    "pick in a batch",
    "pick in a batch below an account",
    "pick in a batch with a key",
    "pick in a batch with a session",
    "pick in a fair queue",
    "pick that met an unknown limit",
    "pick with all reservations in use",
    "rate read that began",
    "rebuild",
    "rebuild given up",
    "rollback to savepoint",
    "round of loads",
    "shares forgotten",
    "start behind a rate",
];

const OF_RATES: [&str; 5] = [
    "bucket filled again",
    "bucket forgotten",
    "rate read that began",
    "rate read where none was read before",
    "start behind a rate",
];

fn steps() -> u64 {
    setting("TURNSTILE_STEPS").unwrap_or(DEFAULT_STEPS)
}

fn run_worlds(steps: u64, steps_a_world: u64, shape: fn(&mut SmallRng) -> Shape) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds(steps, steps_a_world) {
        match run(seed, steps_a_world, shape) {
            Ok(more) => tally.add(&more),
            Err(error) => panic!("{error}"),
        }
    }
    println!("{tally}");
    tally
}

#[test]
fn interleaved_transactions_keep_every_rule() {
    let tally = run_worlds(steps() * 6 / 10, STEPS_A_WORLD, Shape::random);
    if setting("TURNSTILE_SEED").is_none() && steps() >= DEFAULT_STEPS {
        for situation in SITUATIONS {
            assert!(tally.of(situation) > 0, "never came up: {situation}");
        }
    }
}

#[test]
fn nested_limits_hold() {
    run_worlds(steps() / 10, 100_000, |_| Shape::nested());
}

#[test]
fn batches_hold_whatever_else_their_jobs_pass() {
    run_worlds(steps() / 10, STEPS_A_WORLD, Shape::of_batches);
}

#[test]
fn rates_hold_however_settings_change() {
    let tally = run_worlds(steps() * 2 / 10, STEPS_A_WORLD, Shape::changing_rates);
    if setting("TURNSTILE_SEED").is_none() && steps() >= DEFAULT_STEPS {
        for situation in OF_RATES {
            assert!(tally.of(situation) > 0, "never came up: {situation}");
        }
    }
}

#[test]
fn queues_are_compared_by_what_is_next_in_them() {
    let tally = run_worlds(steps() * 2 / 10, STEPS_A_WORLD, Shape::many_queues);
    if setting("TURNSTILE_SEED").is_none() && steps() >= DEFAULT_STEPS {
        assert!(tally.of("pick limited to some queues") > 0);
        assert!(tally.of("pick in a fair queue") > 0);
    }
}
