//! Jobs age by the settings of their queue, also while all lanes of the queue are outside memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::{Probes, capacity_for};
use turnstile_scheduler::times::SECOND;
use turnstile_scheduler::{GateKind, GateSettings, JobPlace, LaneSpec, Limit, Scheduler};
use world::arena::Arena;

const QUEUE: u64 = 1;
const OLD: i64 = 10;
const NEW: i64 = 20;

/// The older job has waited for more steps than its priority is behind.
fn lane(priority: i32) -> LaneSpec {
    LaneSpec {
        lane: 1 + u64::from(priority.unsigned_abs()),
        queue: QUEUE,
        priority,
        ..LaneSpec::default()
    }
}

fn place(spec: &LaneSpec, position: i64) -> JobPlace<'_> {
    JobPlace { spec, position }
}

fn let_jobs_age(scheduler: &mut Scheduler) {
    let slots = scheduler.gate_slots();
    let gates = slots.filter_map(|slot| scheduler.unknown_gate_at(slot).unwrap());
    let queue = gates.into_iter().find(|gate| gate.kind == GateKind::Queue);
    let queue = queue.unwrap();
    let settings = GateSettings {
        aging: 1_000,
        ..Limit::None.into()
    };
    let stored = scheduler.set_gate_settings(queue.kind, queue.key, queue.version, &settings);
    assert!(stored.unwrap());
}

#[test]
fn a_job_of_a_queue_without_lanes_has_the_level_that_it_had() {
    let mut arena = Arena::new(capacity_for(16));
    let mut scheduler = arena.scheduler();
    let (old, new) = (lane(1), lane(0));
    scheduler.lower(&old, OLD).unwrap();
    let_jobs_age(&mut scheduler);
    scheduler.note_position(NEW, 5 * SECOND).unwrap();
    scheduler.lower(&new, NEW).unwrap();

    let old_is_first =
        |scheduler: &Scheduler| scheduler.comes_before(&place(&old, OLD), &place(&new, NEW));
    assert_eq!(scheduler.level(QUEUE, 0, NEW), Ok(5));
    assert_eq!(old_is_first(&scheduler), Ok(true));
    scheduler.evict_some(2).unwrap();
    assert_eq!(scheduler.lane_count(), 0);
    assert_eq!(scheduler.level(QUEUE, 0, NEW), Ok(5));
    assert_eq!(old_is_first(&scheduler), Ok(true));
}
