//! How many slots a step looks at: the queues of others do not make it more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::testing::injection::looks;
use turnstile_scheduler::{
    EVERY_QUEUE, GateKind, GateSettings, LaneSpec, Limit, Outcome, Pick, ReservationId, Scheduler,
    UnknownGate,
};
use world::arena::Arena;

const NOW: i64 = 1_000_000;
const OWN: u64 = 1;
/// All lanes are of this tenant.
const TENANT: u64 = 2;
const ROUNDS: i64 = 50;
/// Intervals of aging, in milliseconds; each queue has one of them.
const INTERVALS: [u32; 3] = [0, 50, 7_000];

fn lane(queue: u64) -> LaneSpec {
    LaneSpec {
        lane: 1_000_000 + queue,
        queue,
        tenant: TENANT,
        ..LaneSpec::default()
    }
}

fn settings(gate: &UnknownGate) -> GateSettings {
    match gate.kind {
        GateKind::Queue => GateSettings {
            aging: INTERVALS[(gate.key % 3) as usize],
            is_fair: gate.key.is_multiple_of(2),
            ..Limit::None.into()
        },
        _ => Limit::None.into(),
    }
}

fn read(scheduler: &mut Scheduler, gate: &UnknownGate) {
    let settings = settings(gate);
    let stored = scheduler.set_gate_settings(gate.kind, gate.key, gate.version, &settings);
    assert!(stored.unwrap());
}

fn fill(scheduler: &mut Scheduler, queues: u64) {
    scheduler.advance(NOW).unwrap();
    for queue in 1..=queues {
        scheduler.lower(&lane(queue), queue.cast_signed()).unwrap();
    }
    for slot in scheduler.gate_slots() {
        if let Some(gate) = scheduler.unknown_gate_at(slot).unwrap() {
            read(scheduler, &gate);
        }
    }
}

/// Takes the next job of a queue or of all, whose lane goes on at a later position or goes away.
fn claim(scheduler: &mut Scheduler, queue: u64, later: Option<i64>) {
    let mut ids = [ReservationId::default()];
    let picked = match scheduler.pick(queue, NOW, &mut [], &mut ids).unwrap() {
        Pick::Lane(picked) => picked,
        other => panic!("{other:?}"),
    };
    let seen: Vec<i64> = [picked.head].into_iter().chain(later).collect();
    let outcome = Outcome {
        taken: &[picked.head],
        seen: &seen,
        seen_all: true,
    };
    scheduler.settle(&picked, &ids, outcome).unwrap();
    scheduler.commit(ids[0]).unwrap();
    scheduler.release(&picked.spec, 1).unwrap();
}

/// The settings of the queue have changed, and are read again.
fn change_settings(scheduler: &mut Scheduler) {
    scheduler.invalidate_gate(GateKind::Queue, OWN).unwrap();
    let pick = scheduler.pick(OWN, NOW, &mut [], &mut []).unwrap();
    let Pick::Unknown(_, gates) = pick else {
        panic!("{pick:?}");
    };
    let changed = UnknownGate {
        key: OWN,
        ..gates[0]
    };
    let other = GateSettings {
        aging: 1 + changed.version,
        is_fair: changed.version.is_multiple_of(2),
        ..Limit::None.into()
    };
    let stored = scheduler.set_gate_settings(GateKind::Queue, OWN, changed.version, &other);
    assert!(stored.unwrap());
}

/// The most slots that each kind of step looks at.
fn most_looks(queues: u64) -> [u64; 6] {
    let mut arena = Arena::new(capacity_for(queues as usize + 2));
    let mut scheduler = arena.scheduler();
    fill(&mut scheduler, queues);
    let mut most = [0; 6];
    for round in 1..=ROUNDS {
        let later = 1_000_000 + 10 * round;
        let steps: [&dyn Fn(&mut Scheduler); 6] = [
            &|it| claim(it, OWN, None),
            &|it| it.lower(&lane(OWN), round).unwrap(),
            &|it| claim(it, EVERY_QUEUE, Some(later)),
            &|it| claim(it, OWN, Some(later + 1)),
            &|it| assert!(it.has_work(EVERY_QUEUE) && it.has_work(OWN)),
            &change_settings,
        ];
        for (most, step) in most.iter_mut().zip(steps) {
            let before = looks();
            step(&mut scheduler);
            *most = (*most).max(looks() - before);
        }
    }
    scheduler.audit().unwrap();
    most
}

#[test]
fn queues_of_others_cost_a_step_nothing() {
    let (few, many) = (most_looks(16), most_looks(16_384));
    println!("slots looked at, at most: {few:?} with 16 queues, {many:?} with 16,384");
    for (few, many) in few.iter().zip(&many) {
        assert!(many <= &(2 * few + 200), "{few} slots, then {many}");
    }
}
