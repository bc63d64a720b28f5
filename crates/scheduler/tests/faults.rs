//! Each seeded fault must be noticed, and without one all must be well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use rand::rngs::SmallRng;
use turnstile_scheduler::testing::faults::{Seeded, arm};
use world::run::run;
use world::shape::Shape;

const STEPS_A_WORLD: u64 = 4_000;
/// Worlds within which a fault must show.
const WORLDS: u64 = 100;

fn unaudited(rng: &mut SmallRng) -> Shape {
    Shape {
        audits: false,
        ..Shape::random(rng)
    }
}

/// Few random worlds have much of what only happens when most lanes find no room.
fn unaudited_and_crowded(rng: &mut SmallRng) -> Shape {
    Shape {
        audits: false,
        ..Shape::crowded(rng)
    }
}

/// What the first world that goes wrong says.
fn first_failure(shapes: [fn(&mut SmallRng) -> Shape; 2]) -> Option<String> {
    let mut worlds = (1..=WORLDS).flat_map(|seed| shapes.map(|shape| (seed, shape)));
    worlds.find_map(|(seed, shape)| {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, STEPS_A_WORLD, shape)));
        match outcome {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(format!("seed {seed} panicked")),
        }
    })
}

/// One test, because a fault is armed for the whole process.
#[test]
fn every_seeded_fault_is_noticed() {
    let audited = [Shape::random, Shape::crowded];
    assert_eq!(first_failure(audited), None);
    for fault in Seeded::ALL {
        for shapes in [audited, [unaudited, unaudited_and_crowded]] {
            arm(Some(fault));
            let failure = first_failure(shapes);
            arm(None);
            let failure = failure.unwrap_or_else(|| panic!("{fault:?} goes unnoticed"));
            let first_line: String = failure.chars().take_while(|&c| c != '\n').collect();
            println!("{fault:?}: {first_line}");
        }
    }
}
