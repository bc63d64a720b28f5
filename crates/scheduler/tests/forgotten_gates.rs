//! Gates that nothing uses are forgotten where there is no room, also while lanes that they hold up are offered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::{Probes, capacity_for};
use turnstile_scheduler::{Capacity, GateKind, LaneSpec, Limit, Scheduler};
use world::arena::Arena;

const QUEUE: u64 = 1;
const BATCH: u64 = 2;

fn held_up() -> LaneSpec {
    LaneSpec {
        lane: 1,
        queue: QUEUE,
        batch: BATCH,
        ..LaneSpec::default()
    }
}

fn close_batch(scheduler: &mut Scheduler) {
    while let Some(gate) = scheduler
        .gate_slots()
        .find_map(|slot| scheduler.unknown_gate_at(slot).unwrap())
    {
        let limit = match gate.kind {
            GateKind::Batch => Limit::AtMost(0),
            _ => Limit::None,
        };
        scheduler
            .set_gate_settings(gate.kind, gate.key, gate.version, &limit.into())
            .unwrap();
    }
}

/// The gate of the batch is what is forgotten next.
fn use_all_gates(scheduler: &mut Scheduler) {
    for unique in 1.. {
        if scheduler.unused_gates() == 0 {
            break;
        }
        let spec = LaneSpec {
            unique,
            ..LaneSpec::default()
        };
        scheduler.hold(&spec, 1).unwrap();
        scheduler.release(&spec, 1).unwrap();
    }
}

#[test]
fn a_lane_whose_gate_is_forgotten_while_it_is_offered_is_not_lost() {
    let mut arena = Arena::new(Capacity {
        gates: 1 + GateKind::ALL.len(),
        ..capacity_for(16)
    });
    let mut scheduler = arena.scheduler();
    scheduler.lower(&held_up(), 10).unwrap();
    close_batch(&mut scheduler);
    scheduler.evict_some(1).unwrap();
    use_all_gates(&mut scheduler);
    assert!(scheduler.is_on_record(&held_up()).unwrap());
    let part = scheduler.part_to_load(QUEUE, 1).unwrap().unwrap();
    let other = LaneSpec {
        lane: 2,
        queue: QUEUE,
        concurrency: 3,
        ..LaneSpec::default()
    };
    let lanes = [(held_up(), 10), (other, 20)];
    scheduler.offer(&part, &lanes, None, QUEUE, &[]).unwrap();
    assert!(scheduler.has_lane(&other).unwrap());
    assert_eq!(scheduler.gate_state(GateKind::Batch, BATCH).unwrap(), None);
    let is_known = scheduler.has_lane(&held_up()).unwrap();
    assert!(is_known || scheduler.is_on_record(&held_up()).unwrap());
}
