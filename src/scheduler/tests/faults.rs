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
use turnstile_scheduler::faults::{Seeded, arm};
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

/// What the first world that goes wrong says.
fn first_failure(shape: fn(&mut SmallRng) -> Shape) -> Option<String> {
    (1..=WORLDS).find_map(|seed| {
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
    assert_eq!(first_failure(Shape::random), None);
    for fault in Seeded::ALL {
        for shape in [Shape::random, unaudited] {
            arm(Some(fault));
            let failure = first_failure(shape);
            arm(None);
            let failure = failure.unwrap_or_else(|| panic!("{fault:?} goes unnoticed"));
            let first_line: String = failure.chars().take_while(|&c| c != '\n').collect();
            println!("{fault:?}: {first_line}");
        }
    }
}
