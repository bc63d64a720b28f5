//! Arrays that grow and shrink: what lanes take, and what is given back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use turnstile_scheduler::probes::Probes;
use turnstile_scheduler::{
    Array, Capacity, Entry, Gate, Lane, LaneSpec, LaneView, Meter, Node, Replica, Scheduler, Share,
};
use world::arena::Arena;
use world::elastic::NOTHING;
use world::shape::Shape;

const LANES: u64 = 20_000;
const MOST_BYTES: usize = 256;

const ONE_LANE: Capacity = Capacity {
    lanes: 1,
    ..NOTHING
};

/// A lane with a session of its own.
fn spec(number: u64) -> LaneSpec {
    LaneSpec {
        lane: 1_000_000 + number,
        queue: 1,
        tenant: 2,
        session: 100 + number,
        ..LaneSpec::default()
    }
}

fn lower(arena: &mut Arena, specs: impl Iterator<Item = LaneSpec>) {
    for (position, spec) in (1..).zip(specs) {
        let missing = arena.scheduler().shortage(&ONE_LANE);
        arena.grow(&missing);
        arena.scheduler().lower(&spec, position).unwrap();
    }
    assert_eq!(arena.scheduler().audit(), Ok(()));
}

fn trim_all(arena: &mut Arena) -> Capacity {
    for array in Array::ALL {
        let needed = arena.scheduler().trim(array).unwrap();
        assert_eq!(needed, arena.scheduler().needed().of(array));
    }
    let needed = arena.scheduler().needed();
    arena.resize(needed);
    assert_eq!(arena.scheduler().audit(), Ok(()));
    needed
}

#[test]
fn a_demand_that_is_met_is_enough() {
    for seed in 1..=50 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let shape = Shape::random(&mut rng);
        let mut arena = Arena::new(NOTHING);
        lower(&mut arena, (0..200).map(|_| shape.any_spec(&mut rng)));
        assert!(!arena.scheduler().has_lanes_outside());
    }
}

#[test]
fn bytes_a_lane() {
    let mut arena = Arena::new(NOTHING);
    lower(&mut arena, (0..LANES).map(spec));
    let needed = arena.scheduler().needed();
    let one = |array: Array| match array {
        Array::Lanes => size_of::<Lane>() + size_of::<Entry>(),
        Array::Nodes => size_of::<Node>() + size_of::<Entry>(),
        Array::Gates => size_of::<Gate>(),
        Array::Meters => size_of::<Meter>() + size_of::<u32>(),
        Array::Shares => size_of::<Share>(),
        Array::Reservations | Array::Due | Array::Leases => 0,
    };
    let bytes = Array::ALL
        .map(|array| needed.of(array) * one(array) + needed.buckets(array) * size_of::<u32>());
    let a_lane = bytes.iter().sum::<usize>() / LANES as usize;
    println!("bytes a lane with a session of its own: {a_lane}");
    assert!(a_lane <= MOST_BYTES, "{a_lane} bytes a lane");
}

#[test]
fn what_is_unused_is_given_back() {
    let mut arena = Arena::new(NOTHING);
    lower(&mut arena, (0..LANES).map(spec));
    let before = arena.capacity;
    arena.scheduler().evict_some(LANES as u32 - 10).unwrap();
    trim_all(&mut arena);
    // The lanes that were left have the last slots. New ones take the first, and the last fall free.
    lower(&mut arena, (LANES..LANES + 100).map(spec));
    arena.scheduler().evict_some(10).unwrap();
    let after = trim_all(&mut arena);
    println!("{before:?}, then {after:?}");
    for array in [Array::Lanes, Array::Nodes, Array::Gates] {
        assert!(after.of(array) * 20 < before.of(array), "{array:?}");
    }
}

#[test]
fn nothing_is_kept_of_what_was_forgotten() {
    let mut arena = Arena::new(NOTHING);
    lower(&mut arena, (0..LANES).map(spec));
    arena.scheduler().forget_everything();
    assert_eq!(trim_all(&mut arena), NOTHING);
    lower(&mut arena, (0..100).map(spec));
}

fn lanes(scheduler: &Scheduler) -> Vec<LaneView> {
    let slots = scheduler.lane_slots();
    slots
        .filter_map(|slot| scheduler.lane_at(slot).unwrap())
        .collect()
}

#[test]
fn a_replica_is_what_was_copied() {
    let mut arena = Arena::new(NOTHING);
    let mut replica = Replica::default();
    for count in [0, 300, 20_000, 10] {
        let mut rng = SmallRng::seed_from_u64(count);
        let shape = Shape::random(&mut rng);
        lower(&mut arena, (0..count).map(|_| shape.any_spec(&mut rng)));
        replica.make_room(&arena.scheduler().needed()).unwrap();
        assert!(replica.fill(&arena.scheduler()));
        let before = lanes(&arena.scheduler());
        lower(&mut arena, (count..count + 5).map(spec));
        assert_eq!(replica.scheduler().audit(), Ok(()));
        assert!(lanes(&replica.scheduler()) == before);
        assert!(lanes(&arena.scheduler()) != before);
        trim_all(&mut arena);
    }
}

#[test]
fn a_scheduler_that_has_outgrown_a_replica_is_not_copied() {
    let mut arena = Arena::new(NOTHING);
    let mut replica = Replica::default();
    replica.make_room(&arena.scheduler().needed()).unwrap();
    assert!(replica.fill(&arena.scheduler()));
    lower(&mut arena, (0..LANES).map(spec));
    assert!(!replica.fill(&arena.scheduler()));
}
