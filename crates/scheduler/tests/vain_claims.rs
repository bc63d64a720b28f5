//! Claims from queues in which nothing waits or runs count as claims, too.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::{Capacity, LaneSpec, Pick};
use world::arena::Arena;

const SECOND: i64 = 1_000_000;
const BEGIN: i64 = 800_000_000 * SECOND;

fn arena() -> Arena {
    Arena::new(Capacity {
        lanes: 4,
        nodes: 8,
        gates: 8,
        meters: 2,
        shares: 2,
        due: 2,
        leases: 2,
        samples: 2,
        reservations: 2,
    })
}

#[test]
fn a_queue_without_a_gate_is_known_to_be_claimed_from_for_a_minute() {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    for queue in [7, 8] {
        let pick = scheduler.pick(queue, BEGIN, &mut [], &mut []).unwrap();
        assert_eq!(pick, Pick::Nothing);
    }
    scheduler.peek(9, BEGIN).unwrap();
    let known = |scheduler: &turnstile_scheduler::Scheduler| {
        [7, 8, 9].map(|queue| scheduler.is_claimed_lately(queue).unwrap())
    };
    assert_eq!(known(&scheduler), [true, true, false]);
    scheduler.advance(BEGIN + 59 * SECOND).unwrap();
    let lane = LaneSpec {
        lane: 3,
        queue: 7,
        ..LaneSpec::default()
    };
    scheduler.lower(&lane, 1).unwrap();
    assert_eq!(known(&scheduler), [true, true, false]);
    scheduler.advance(BEGIN + 61 * SECOND).unwrap();
    assert_eq!(known(&scheduler), [false; 3]);
}

#[test]
fn two_queues_that_share_a_place_are_never_taken_for_each_other() {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    scheduler.pick(7, BEGIN, &mut [], &mut []).unwrap();
    assert!(!scheduler.is_claimed_lately(7 + 64).unwrap());
    scheduler.pick(7 + 64, BEGIN, &mut [], &mut []).unwrap();
    assert!(scheduler.is_claimed_lately(7 + 64).unwrap());
}
