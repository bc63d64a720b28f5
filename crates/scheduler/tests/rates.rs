//! When a rate begins with a full bucket, where settings, callbacks and starts come in an order that is rare at random.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use turnstile_scheduler::probes::capacity_for;
use turnstile_scheduler::{
    GateKind, GateSettings, LONG_AGO, LaneSpec, Limit, Outcome, Pick, Rate, Scheduler,
};
use world::arena::Arena;

const QUEUE: u64 = 1;
/// Nothing comes back while a test runs.
const HOUR: i64 = 3_600_000_000;
const SLOW: Rate = Rate {
    starts: 1,
    burst: 2,
    per: HOUR,
};

fn queue() -> LaneSpec {
    LaneSpec {
        lane: 1,
        queue: QUEUE,
        ..LaneSpec::default()
    }
}

fn rated(rate: Rate, rate_since: i64) -> GateSettings {
    GateSettings {
        rate: Some(rate),
        rate_since,
        ..Limit::None.into()
    }
}

fn free() -> GateSettings {
    Limit::None.into()
}

/// Reads the settings of the queue, as of this time.
fn read(scheduler: &mut Scheduler, now: i64, settings: &GateSettings) {
    scheduler.advance(now).unwrap();
    let gate = scheduler
        .gate_slots()
        .find_map(|slot| scheduler.unknown_gate_at(slot).unwrap())
        .expect("the settings are known");
    let stored = scheduler.set_gate_settings(gate.kind, gate.key, gate.version, settings);
    assert!(stored.unwrap());
}

fn invalidate(scheduler: &mut Scheduler, now: i64) {
    scheduler.advance(now).unwrap();
    scheduler.invalidate_gate(GateKind::Queue, QUEUE).unwrap();
}

fn rebuild(scheduler: &mut Scheduler) {
    scheduler.begin_rebuild().unwrap();
    scheduler.lower(&queue(), 1).unwrap();
    scheduler.end_rebuild().unwrap();
}

/// Starts as many jobs as may start, at most ten.
fn start_all(scheduler: &mut Scheduler, now: i64) -> usize {
    let mut ids = [Default::default(); 10];
    match scheduler.pick(QUEUE, now, &mut [], &mut ids).unwrap() {
        Pick::Lane(picked) => {
            let taken: Vec<i64> = (1..=picked.reserved as i64).collect();
            let outcome = Outcome {
                taken: &taken,
                seen: &[100],
                seen_all: false,
            };
            let ids = &ids[..picked.reserved];
            scheduler.settle(&picked, ids, outcome).unwrap();
            ids.iter().for_each(|&id| scheduler.commit(id).unwrap());
            picked.reserved
        }
        Pick::Nothing => 0,
        other => panic!("{other:?}"),
    }
}

/// A memory that knows the queue and is there from time 100 on.
fn arena() -> Arena {
    let mut arena = Arena::new(capacity_for(16));
    let mut scheduler = arena.scheduler();
    scheduler.advance(100).unwrap();
    scheduler.lower(&queue(), 1).unwrap();
    arena
}

/// The callback of the transaction that took the rate away may come after the next rate was written, and starts in between.
#[test]
fn a_rate_whose_end_is_heard_of_late_has_been_in_force_until_then() {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    read(&mut scheduler, 110, &rated(SLOW, 105));
    assert_eq!(start_all(&mut scheduler, 130), 2);
    invalidate(&mut scheduler, 140);
    read(&mut scheduler, 150, &rated(SLOW, 120));
    assert_eq!(start_all(&mut scheduler, 160), 0);
}

/// The queue has started two jobs, and its settings are not known any more at 130. The default gets its rate at 140, and a queue loses
/// its own at 150. Gives how many jobs start then.
fn starts_after_a_loss(loser: u64, since: i64) -> usize {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    read(&mut scheduler, 110, &rated(SLOW, 105));
    assert_eq!(start_all(&mut scheduler, 120), 2);
    invalidate(&mut scheduler, 130);
    scheduler.advance(150).unwrap();
    scheduler
        .lose_rate(GateKind::Queue, Some(loser), since)
        .unwrap();
    read(&mut scheduler, 160, &rated(SLOW, 140));
    start_all(&mut scheduler, 170)
}

#[test]
fn a_rate_that_was_set_while_another_was_in_force_keeps_the_tokens() {
    assert_eq!(starts_after_a_loss(QUEUE, 105), 0);
}

#[test]
fn what_others_lose_takes_nothing_from_a_queue_that_memory_knows() {
    assert_eq!(starts_after_a_loss(QUEUE + 1, LONG_AGO), 2);
}

#[test]
fn a_lost_rate_that_is_older_than_memory_lets_no_earlier_one_begin_full() {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    scheduler.advance(150).unwrap();
    let own = Some(QUEUE);
    scheduler.lose_rate(GateKind::Queue, own, LONG_AGO).unwrap();
    read(&mut scheduler, 160, &rated(SLOW, 140));
    assert_eq!(start_all(&mut scheduler, 170), 0);
}

/// A rebuild that has nothing to forget goes on with what is on record.
#[test]
fn a_rate_that_is_lost_while_memory_is_distrusted_lets_no_earlier_one_begin_full() {
    for (is_lost, starts) in [(false, 2), (true, 0)] {
        let mut arena = arena();
        let mut scheduler = arena.scheduler();
        if is_lost {
            scheduler.doubt_rates(LONG_AGO, 150);
        }
        rebuild(&mut scheduler);
        read(&mut scheduler, 160, &rated(SLOW, 140));
        assert_eq!(start_all(&mut scheduler, 170), starts);
    }
}

/// The row got back the rate that was not in force for it meanwhile, and so does not know since when one is.
#[test]
fn a_lost_rate_that_claims_less_than_is_known_is_as_old_as_that() {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    for (now, since) in [(120, LONG_AGO), (150, 110)] {
        scheduler.advance(now).unwrap();
        let own = Some(QUEUE);
        scheduler.lose_rate(GateKind::Queue, own, since).unwrap();
    }
    read(&mut scheduler, 160, &rated(SLOW, 140));
    assert_eq!(start_all(&mut scheduler, 170), 0);
}

#[test]
fn a_rate_begins_full_where_none_was_read_before_whatever_its_row_says() {
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    read(&mut scheduler, 110, &free());
    assert_eq!(start_all(&mut scheduler, 120), 10);
    invalidate(&mut scheduler, 130);
    read(&mut scheduler, 140, &rated(SLOW, LONG_AGO));
    assert_eq!(start_all(&mut scheduler, 150), 2);
    invalidate(&mut scheduler, 160);
    read(&mut scheduler, 170, &rated(SLOW, LONG_AGO));
    assert_eq!(start_all(&mut scheduler, 180), 0, "once");
}

/// It takes 300,000 years to fill, and is full at first.
#[test]
fn a_burst_may_take_longer_to_fill_than_times_reach() {
    let forever = Rate {
        starts: 1,
        burst: 2_147_483_647,
        per: 100 * 365 * 24 * HOUR,
    };
    let mut arena = arena();
    let mut scheduler = arena.scheduler();
    read(&mut scheduler, 110, &rated(forever, 105));
    assert_eq!(start_all(&mut scheduler, 120), 10);
    rebuild(&mut scheduler);
    read(&mut scheduler, 130, &rated(forever, 105));
    assert_eq!(start_all(&mut scheduler, 140), 0);
}
