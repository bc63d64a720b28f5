//! How many slots a step changes: lanes that wait behind several closed gates do not make it more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::testing::injection::{arm, touches_left};
use turnstile_scheduler::{Capacity, GateKind, LaneSpec, Limit, Pick, Scheduler};
use world::arena::Arena;

const QUEUE: u64 = 1;
const TENANT: u64 = 2;
const KEY: u64 = 3;
const ROUNDS: usize = 50;

fn only_tenant() -> LaneSpec {
    LaneSpec {
        tenant: TENANT,
        ..LaneSpec::default()
    }
}

fn only_key() -> LaneSpec {
    LaneSpec {
        concurrency: KEY,
        ..LaneSpec::default()
    }
}

/// Sessions of one tenant that share a key.
fn fill(scheduler: &mut Scheduler, lanes: u64) {
    for number in 1..=lanes {
        let spec = LaneSpec {
            lane: 1_000_000 + number,
            queue: QUEUE,
            tenant: TENANT,
            session: 1_000 + number,
            concurrency: KEY,
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
        let stored = scheduler.set_terms(gate.kind, gate.key, gate.version, &limit.into());
        assert!(stored.unwrap());
    }
}

/// The most slots that a step changes while now the tenant, now the key has no room.
fn most_touches(lanes: u64) -> u32 {
    let mut arena = Arena::new(Capacity::for_lanes(lanes as usize));
    let mut scheduler = arena.scheduler();
    fill(&mut scheduler, lanes);
    scheduler.hold(&only_tenant(), 1).unwrap();
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
        step(&mut scheduler, &|it| it.release(&only_tenant(), 1).unwrap());
        step(&mut scheduler, &pick_nothing);
        step(&mut scheduler, &|it| it.hold(&only_tenant(), 1).unwrap());
        step(&mut scheduler, &|it| it.release(&only_key(), 1).unwrap());
    }
    most
}

#[test]
fn lanes_behind_a_full_tenant_and_a_full_key_cost_a_pick_nothing() {
    let (few, many) = (most_touches(16), most_touches(16_384));
    println!("slots changed at most in a step: {few} with 16 lanes, {many} with 16,384");
    assert!(
        many <= few + 32,
        "{few} slots with 16 lanes, {many} with 16,384"
    );
}
