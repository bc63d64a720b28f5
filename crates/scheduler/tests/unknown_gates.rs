//! The gates whose settings a claim reads together with those of the one that it has met.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::{GateKind, LaneSpec, Limit, Scheduler, UnknownGate};
use world::arena::Arena;

const QUEUE: u64 = 1;
const FIRST_TENANT: u64 = 1_000;
const TENANTS: u64 = 10;

fn fill(scheduler: &mut Scheduler) {
    for number in 0..TENANTS {
        let spec = LaneSpec {
            lane: 1_000_000 + number,
            queue: QUEUE,
            tenant: FIRST_TENANT + number,
            ..LaneSpec::default()
        };
        scheduler.lower(&spec, 1).unwrap();
    }
}

fn keys_behind(scheduler: &Scheduler, key: u64, looks: u32, most: usize) -> Vec<u64> {
    let mut found = vec![UnknownGate::default(); most];
    let count = scheduler
        .unknown_gates_behind(GateKind::Tenant, key, looks, &mut found)
        .unwrap();
    found.truncate(count);
    assert!(found.iter().all(|gate| gate.kind == GateKind::Tenant));
    found.iter().map(|gate| gate.key).collect()
}

#[test]
fn they_are_those_of_the_kind_that_follow() {
    let mut arena = Arena::new(capacity_for(100));
    let mut scheduler = arena.scheduler();
    fill(&mut scheduler);
    let next: Vec<u64> = (FIRST_TENANT + 4..FIRST_TENANT + 7).collect();
    assert_eq!(keys_behind(&scheduler, FIRST_TENANT + 3, 100, 3), next);
    assert_eq!(keys_behind(&scheduler, FIRST_TENANT + 3, 2, 100), next[..2]);
}

#[test]
fn behind_the_last_come_the_first() {
    let mut arena = Arena::new(capacity_for(100));
    let mut scheduler = arena.scheduler();
    fill(&mut scheduler);
    let all_others: Vec<u64> = (FIRST_TENANT..FIRST_TENANT + TENANTS - 1).collect();
    let last = FIRST_TENANT + TENANTS - 1;
    assert_eq!(keys_behind(&scheduler, last, 1_000, 100), all_others);
}

#[test]
fn a_gate_that_is_known_or_gone_is_none_of_them() {
    let mut arena = Arena::new(capacity_for(100));
    let mut scheduler = arena.scheduler();
    fill(&mut scheduler);
    let known = FIRST_TENANT + 4;
    let version = scheduler
        .gate_slots()
        .find_map(|slot| {
            let gate = scheduler.unknown_gate_at(slot).unwrap()?;
            (gate.key == known).then_some(gate.version)
        })
        .unwrap();
    let stored = scheduler.set_gate_settings(GateKind::Tenant, known, version, &Limit::None.into());
    assert!(stored.unwrap());
    assert!(!keys_behind(&scheduler, FIRST_TENANT, 1_000, 100).contains(&known));
    assert_eq!(keys_behind(&scheduler, 42, 1_000, 100), Vec::<u64>::new());
}
