//! A copy of the scheduler, to be read without the lock that is held while it is made.

use crate::memory::capacity::Capacity;
use crate::memory::due::DueQueue;
use crate::memory::gate::Gate;
use crate::memory::header::Header;
use crate::memory::lane::Lane;
use crate::memory::lease::Lease;
use crate::memory::meter::Meter;
use crate::memory::node::Node;
use crate::memory::outside::{OUTSIDE_RECORDS, Outside};
use crate::memory::reservation::Reservation;
use crate::memory::sample::Sample;
use crate::memory::scheduler::{Memory, Pools, Scheduler};
use crate::memory::share::Share;
use crate::memory::slab::{Pool, Slab, Slot, buckets_for};
use std::collections::TryReserveError;

#[derive(Default)]
pub struct Replica {
    header: Header,
    pools: Pools,
    lanes: Array<Lane>,
    nodes: Array<Node>,
    gates: Array<Gate>,
    meters: Array<Meter>,
    timers: Vec<u32>,
    shares: Array<Share>,
    due: Array<DueQueue>,
    due_order: Vec<u32>,
    leases: Array<Lease>,
    calendar: Vec<Sample>,
    reservations: Array<Reservation>,
    outside: Array<Outside>,
}

impl Replica {
    /// Allocates what a scheduler takes that needs so many slots, and some more, as it may grow until it is copied.
    pub fn make_room(&mut self, needed: &Capacity) -> Result<(), TryReserveError> {
        self.lanes.make_room(needed.lanes)?;
        self.nodes.make_room(needed.nodes)?;
        self.gates.make_room(needed.gates)?;
        self.meters.make_room(needed.meters)?;
        make_room(&mut self.timers, needed.meters)?;
        self.shares.make_room(needed.shares)?;
        self.due.make_room(needed.due)?;
        make_room(&mut self.due_order, needed.due)?;
        self.leases.make_room(needed.leases)?;
        make_room(&mut self.calendar, needed.samples)?;
        self.reservations.make_room(needed.reservations)?;
        self.outside.make_room(OUTSIDE_RECORDS)
    }

    /// Copies the scheduler, and allocates nothing. False if it has outgrown the room, and nothing can be read then.
    pub fn fill(&mut self, scheduler: &Scheduler) -> bool {
        self.header = *scheduler.header;
        let (meters, due) = (scheduler.meters.needed(), scheduler.due.needed());
        let samples = self.header.calendar.samples as usize;
        self.lanes.fill(&scheduler.lanes, &mut self.pools.lanes)
            && self.nodes.fill(&scheduler.nodes, &mut self.pools.nodes)
            && self.gates.fill(&scheduler.gates, &mut self.pools.gates)
            && self.meters.fill(&scheduler.meters, &mut self.pools.meters)
            && fill(&mut self.timers, scheduler.timers, meters)
            && self.shares.fill(&scheduler.shares, &mut self.pools.shares)
            && self.due.fill(&scheduler.due, &mut self.pools.due)
            && fill(&mut self.due_order, scheduler.due_order, due)
            && self.leases.fill(&scheduler.leases, &mut self.pools.leases)
            && fill(&mut self.calendar, scheduler.calendar, samples)
            && (self.reservations).fill(&scheduler.reservations, &mut self.pools.reservations)
            && self
                .outside
                .fill(&scheduler.outside, &mut self.pools.outside)
    }

    pub fn scheduler(&mut self) -> Scheduler<'_> {
        Scheduler::new(Memory {
            header: &mut self.header,
            pools: &mut self.pools,
            lanes: &mut self.lanes.slots,
            lane_entries: &mut self.lanes.beside,
            lane_buckets: &mut self.lanes.buckets,
            nodes: &mut self.nodes.slots,
            node_entries: &mut self.nodes.beside,
            node_buckets: &mut self.nodes.buckets,
            gates: &mut self.gates.slots,
            gate_buckets: &mut self.gates.buckets,
            meters: &mut self.meters.slots,
            meter_buckets: &mut self.meters.buckets,
            timers: &mut self.timers,
            shares: &mut self.shares.slots,
            share_buckets: &mut self.shares.buckets,
            due: &mut self.due.slots,
            due_buckets: &mut self.due.buckets,
            due_order: &mut self.due_order,
            leases: &mut self.leases.slots,
            lease_buckets: &mut self.leases.buckets,
            calendar: &mut self.calendar,
            reservations: &mut self.reservations.slots,
            reservation_buckets: &mut self.reservations.buckets,
            outside: &mut self.outside.slots,
            outside_buckets: &mut self.outside.buckets,
        })
    }
}

struct Array<T: Slot> {
    slots: Vec<T>,
    beside: Vec<T::Beside>,
    buckets: Vec<u32>,
}

impl<T: Slot> Default for Array<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            beside: Vec::new(),
            buckets: Vec::new(),
        }
    }
}

impl<T: Slot> Array<T> {
    fn make_room(&mut self, slots: usize) -> Result<(), TryReserveError> {
        make_room(&mut self.slots, slots)?;
        make_room(&mut self.beside, slots)?;
        make_room(&mut self.buckets, buckets_for::<T>(slots))
    }

    fn fill(&mut self, from: &Slab<T>, pool: &mut Pool) -> bool {
        *pool = *from.pool;
        let buckets = from.pool.last_bucket as usize + 1;
        fill(&mut self.slots, from.slots, from.needed())
            && fill(&mut self.beside, from.beside, from.needed())
            && fill(&mut self.buckets, from.buckets, buckets)
    }
}

fn make_room<T>(copy: &mut Vec<T>, elements: usize) -> Result<(), TryReserveError> {
    const MORE: usize = 1_024;
    copy.clear();
    copy.try_reserve_exact(elements + elements / 8 + MORE)
}

/// Copies up to so many elements.
fn fill<T: Copy>(copy: &mut Vec<T>, from: &[T], elements: usize) -> bool {
    copy.clear();
    let used = from.get(..elements).unwrap_or(from);
    let has_room = used.len() <= copy.capacity();
    if has_room {
        copy.extend_from_slice(used);
    }
    has_room
}
