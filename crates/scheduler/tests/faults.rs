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

fn unaudited_with_many_queues(rng: &mut SmallRng) -> Shape {
    Shape {
        audits: false,
        ..Shape::many_queues(rng)
    }
}

/// What the first world that goes wrong says.
fn first_failure(shapes: [fn(&mut SmallRng) -> Shape; 3]) -> Option<String> {
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

fn elastic_and_unaudited(rng: &mut SmallRng) -> Shape {
    Shape {
        audits: false,
        ..Shape::elastic(rng)
    }
}

fn changing_rates_and_unaudited(rng: &mut SmallRng) -> Shape {
    Shape {
        audits: false,
        ..Shape::changing_rates(rng)
    }
}

fn each_is_noticed(faults: &[Seeded], by: [[fn(&mut SmallRng) -> Shape; 3]; 2]) {
    for &fault in faults {
        for shapes in by {
            arm(Some(fault));
            let failure = first_failure(shapes);
            arm(None);
            let failure = failure.unwrap_or_else(|| panic!("{fault:?} goes unnoticed"));
            let first_line: String = failure.chars().take_while(|&c| c != '\n').collect();
            println!("{fault:?}: {first_line}");
        }
    }
}

/// One test, because a fault is armed for the whole process.
#[test]
fn every_seeded_fault_is_noticed() {
    let audited = [Shape::random, Shape::crowded, Shape::many_queues];
    assert_eq!(first_failure(audited), None);
    let unaudited = [unaudited, unaudited_and_crowded, unaudited_with_many_queues];
    each_is_noticed(
        Seeded::OF_GROWTH,
        [[Shape::elastic; 3], [elastic_and_unaudited; 3]],
    );
    each_is_noticed(
        Seeded::OF_RATES,
        [
            [Shape::changing_rates; 3],
            [changing_rates_and_unaudited; 3],
        ],
    );
    each_is_noticed(Seeded::OF_SCHEDULING, [audited, unaudited]);
}
