//! How many slots a step changes: lanes that wait behind several closed gates do not make it more, nor do lanes that
//! other queues have outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::testing::injection::{arm, touches_left};
use turnstile_scheduler::{GateKind, LaneSpec, Limit, Pick, Scheduler};
use world::arena::Arena;

const QUEUE: u64 = 1;
const TENANT: u64 = 2;
const KEY: u64 = 3;
const BATCH: u64 = 4;
const ROUNDS: usize = 50;

fn only_tenant() -> LaneSpec {
    LaneSpec {
        tenant: TENANT,
        ..LaneSpec::default()
    }
}

fn only_batch() -> LaneSpec {
    LaneSpec {
        batch: BATCH,
        ..LaneSpec::default()
    }
}

fn only_key() -> LaneSpec {
    LaneSpec {
        concurrency: KEY,
        ..LaneSpec::default()
    }
}

/// Sessions of one tenant that share a key, and a batch if there is one.
fn fill(scheduler: &mut Scheduler, lanes: u64, batch: u64) {
    for number in 1..=lanes {
        let spec = LaneSpec {
            lane: 1_000_000 + number,
            queue: QUEUE,
            tenant: TENANT,
            session: 1_000 + number,
            concurrency: KEY,
            batch,
            ..LaneSpec::default()
        };
        scheduler.lower(&spec, number.cast_signed()).unwrap();
    }
    while let Some(gate) = scheduler
        .gate_slots()
        .find_map(|slot| scheduler.unknown_gate_at(slot).unwrap())
    {
        let limit = match gate.kind {
            GateKind::Queue => Limit::None,
            _ => Limit::AtMost(1),
        };
        let stored = scheduler.set_gate_settings(gate.kind, gate.key, gate.version, &limit.into());
        assert!(stored.unwrap());
    }
}

/// The most slots that a step changes while now their home, a tenant or a batch, has no room, now the key.
fn most_touches(lanes: u64, home: &LaneSpec) -> u32 {
    let mut arena = Arena::new(capacity_for(lanes as usize));
    let mut scheduler = arena.scheduler();
    fill(&mut scheduler, lanes, home.batch);
    scheduler.hold(home, 1).unwrap();
    let mut most = 0;
    let mut step = |scheduler: &mut Scheduler, take: &dyn Fn(&mut Scheduler)| {
        arm(u32::MAX);
        take(scheduler);
        most = most.max(u32::MAX - touches_left());
        arm(0);
    };
    let pick_nothing = |scheduler: &mut Scheduler| {
        let pick = scheduler.pick(QUEUE, 0, &mut [], &mut [Default::default()]);
        assert_eq!(pick, Ok(Pick::Nothing));
    };
    for _ in 0..ROUNDS {
        step(&mut scheduler, &pick_nothing);
        step(&mut scheduler, &|it| it.hold(&only_key(), 1).unwrap());
        step(&mut scheduler, &|it| it.release(home, 1).unwrap());
        step(&mut scheduler, &pick_nothing);
        step(&mut scheduler, &|it| it.hold(home, 1).unwrap());
        step(&mut scheduler, &|it| it.release(&only_key(), 1).unwrap());
    }
    most
}

fn assert_that_many_cost_no_more(home: &LaneSpec) {
    let (few, many) = (most_touches(16, home), most_touches(16_384, home));
    println!("slots changed at most in a step: {few} with 16 lanes, {many} with 16,384");
    assert!(
        many <= few + 32,
        "{few} slots with 16 lanes, {many} with 16,384"
    );
}

#[test]
fn lanes_behind_a_full_tenant_and_a_full_key_cost_a_pick_nothing() {
    assert_that_many_cost_no_more(&only_tenant());
}

#[test]
fn lanes_behind_a_full_batch_and_a_full_key_cost_a_pick_nothing() {
    assert_that_many_cost_no_more(&only_batch());
}

const SMALL: u64 = 7 << 32;
const FLOODED: u64 = 8 << 32;
/// Lanes of the small queue: fewer than each tenant of the other has.
const FEW: u64 = 6;

/// The most slots that a step for a small queue changes beside a full memory and so many lanes of another queue.
fn most_touches_beside(lanes: u64) -> u32 {
    let mut arena = Arena::new(capacity_for(128));
    let mut scheduler = arena.scheduler();
    for number in 1..=lanes {
        let spec = LaneSpec {
            lane: number,
            queue: FLOODED,
            tenant: number % 8,
            ..LaneSpec::default()
        };
        scheduler.lower(&spec, number.cast_signed()).unwrap();
    }
    assert!(scheduler.has_outside(FLOODED).unwrap());
    let mut most = 0;
    for number in 0..FEW {
        let spec = LaneSpec {
            lane: (1 << 40) + number,
            queue: SMALL,
            ..LaneSpec::default()
        };
        arm(u32::MAX);
        scheduler.lower(&spec, 1_000_000).unwrap();
        let head = scheduler.lane_slots().find_map(|slot| {
            let lane = scheduler.lane_at(slot).unwrap()?;
            (lane.spec.lane == spec.lane).then_some(lane.head)
        });
        assert_eq!(
            head,
            Some(1_000_000),
            "a lane begins as if it had other jobs"
        );
        assert!(!scheduler.has_outside(SMALL).unwrap());
        assert_eq!(scheduler.part_to_load(SMALL, 1), Ok(None));
        assert!(scheduler.begin_search(SMALL, &[]).unwrap().is_none());
        most = most.max(u32::MAX - touches_left());
        arm(0);
    }
    most
}

#[test]
fn what_other_queues_have_outside_costs_a_queue_nothing() {
    let (few, many) = (most_touches_beside(1_000), most_touches_beside(100_000));
    assert_eq!(few, many);
}
