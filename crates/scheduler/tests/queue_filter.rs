//! A pick that is limited to some queues is one of a scheduler that has no others.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::rc::Rc;
use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::{
    EVERY_QUEUE, GateKind, GateSettings, LaneSpec, Limit, Outcome, Pick, ReservationId, Scheduler,
};
use world::arena::Arena;

const QUEUES: u64 = 5;
const TENANTS: u64 = 3;
const LANES: u64 = 60;
const PICKS: usize = 80;
const ROUNDS: u64 = 300;

/// A lane with one job, at its head.
fn lanes(rng: &mut SmallRng) -> Vec<(LaneSpec, i64)> {
    let lane = |number: u64| {
        let spec = LaneSpec {
            lane: 1_000 + number,
            queue: rng.random_range(1..=QUEUES),
            tenant: match rng.random_range(0..=TENANTS) {
                0 => 0,
                tenant => 100 + tenant,
            },
            priority: rng.random_range(0..3),
            ..LaneSpec::default()
        };
        (spec, number.cast_signed())
    };
    (1..=LANES).map(lane).collect()
}

fn settings(kind: GateKind, key: u64) -> GateSettings {
    let limit = match kind {
        GateKind::Queue if key.is_multiple_of(2) => Limit::AtMost(4),
        GateKind::Tenant => Limit::AtMost(2),
        _ => Limit::None,
    };
    GateSettings {
        is_fair: kind == GateKind::Queue && key == 3,
        ..limit.into()
    }
}

fn fill(scheduler: &mut Scheduler, lanes: &[(LaneSpec, i64)]) {
    for (spec, position) in lanes {
        scheduler.lower(spec, *position).unwrap();
    }
    while let Some(gate) = scheduler
        .gate_slots()
        .find_map(|slot| scheduler.unknown_gate_at(slot).unwrap())
    {
        let settings = settings(gate.kind, gate.key);
        assert!(
            scheduler
                .set_gate_settings(gate.kind, gate.key, gate.version, &settings)
                .unwrap()
        );
    }
}

/// What is picked, of as many jobs as there may be, and takes the first of them.
fn take(
    scheduler: &mut Scheduler,
    wanted: usize,
) -> Option<(LaneSpec, i64, Option<i64>, u32, usize)> {
    let mut ids = vec![ReservationId::default(); wanted];
    let picked = match scheduler.pick(EVERY_QUEUE, 0, &mut [], &mut ids).unwrap() {
        Pick::Lane(picked) => picked,
        Pick::Nothing => return None,
        other => panic!("{other:?}"),
    };
    ids.truncate(picked.reserved);
    let outcome = Outcome {
        taken: &[picked.head],
        seen: &[picked.head],
        seen_all: true,
    };
    scheduler.settle(&picked, &ids, outcome).unwrap();
    scheduler.commit(ids[0]).unwrap();
    Some((
        picked.spec,
        picked.head,
        picked.bound,
        picked.due,
        picked.reserved,
    ))
}

#[test]
fn queues_outside_the_filter_change_nothing() {
    let mut picks = 0;
    for seed in 0..ROUNDS {
        let mut rng = SmallRng::seed_from_u64(seed);
        let all = lanes(&mut rng);
        let queues: Vec<u64> = (1..=QUEUES).collect();
        let some = rng.random_range(1..=queues.len());
        let mut meant: Vec<u64> = queues.choose_multiple(&mut rng, some).copied().collect();
        meant.sort_unstable();
        let of_meant: Vec<_> = all
            .iter()
            .filter(|(spec, _)| meant.contains(&spec.queue))
            .copied()
            .collect();
        let mut arenas = [(); 2].map(|()| Arena::new(capacity_for(LANES as usize)));
        let [whole, part] = &mut arenas;
        let (mut whole, mut part) = (whole.scheduler(), part.scheduler());
        fill(&mut whole, &all);
        fill(&mut part, &of_meant);
        for _ in 0..PICKS {
            let wanted = rng.random_range(1..4);
            whole.limit_to(Rc::from(meant.as_slice()));
            let found = take(&mut whole, wanted);
            assert_eq!(found, take(&mut part, wanted), "seed {seed}");
            let Some((spec, ..)) = found else {
                break;
            };
            picks += 1;
            if rng.random_bool(0.4) {
                whole.release(&spec, 1).unwrap();
                part.release(&spec, 1).unwrap();
            }
        }
    }
    assert!(picks > 1_000, "{picks} picks");
}
