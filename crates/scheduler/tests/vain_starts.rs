//! Starts that were charged in vain do not move the clock of a fair queue: too rare for a few random worlds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::{Probes, capacity_for};
use turnstile_scheduler::{
    GateKind, GateSettings, LaneSpec, Limit, Outcome, Pick, Picked, ReservationId, Scheduler,
};
use world::arena::Arena;
use world::fairness::cost;

const QUEUE: u64 = 1;
const STARTS: usize = 2;

fn lane() -> LaneSpec {
    LaneSpec {
        lane: 3,
        queue: QUEUE,
        tenant: 2,
        ..LaneSpec::default()
    }
}

/// Room for two claims.
fn read_settings(scheduler: &mut Scheduler) {
    while let Some(gate) = scheduler
        .gate_slots()
        .find_map(|slot| scheduler.unknown_gate_at(slot).unwrap())
    {
        let limit = match gate.kind {
            GateKind::Tenant => Limit::AtMost(2 * STARTS as u32),
            _ => Limit::None,
        };
        let settings = GateSettings {
            is_fair: gate.kind == GateKind::Queue,
            ..limit.into()
        };
        scheduler
            .set_gate_settings(gate.kind, gate.key, gate.version, &settings)
            .unwrap();
    }
}

fn pick(scheduler: &mut Scheduler) -> (Picked, [ReservationId; STARTS]) {
    let mut ids = [ReservationId::default(); STARTS];
    match scheduler.pick(QUEUE, 0, &mut [], &mut ids).unwrap() {
        Pick::Lane(picked) if picked.reserved == STARTS => (picked, ids),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_clock_stops_where_the_starts_of_the_tenant_end() {
    let mut arena = Arena::new(capacity_for(16));
    let mut scheduler = arena.scheduler();
    scheduler.lower(&lane(), 1).unwrap();
    read_settings(&mut scheduler);
    let (vain, vain_ids) = pick(&mut scheduler);
    let (picked, ids) = pick(&mut scheduler);

    let nothing = Outcome {
        taken: &[],
        seen: &[],
        seen_all: false,
    };
    scheduler.settle(&vain, &vain_ids, nothing).unwrap();
    // Without room the tenant does not wait, so it is not what waits that stops the clock.
    scheduler.hold(&lane(), STARTS as u32).unwrap();
    let both = Outcome {
        taken: &[1, 2],
        ..nothing
    };
    scheduler.settle(&picked, &ids, both).unwrap();
    let clock = scheduler.clock_of(QUEUE, picked.level).unwrap();
    assert_eq!(clock, STARTS as u64 * cost(1));
}
