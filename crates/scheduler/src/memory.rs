//! The arrays that the scheduler works on, and how many slots each has.

use crate::index::{Pool, Slab};
use crate::overflow::Outside;
use crate::{Entry, Fault, Gate, Lane, Meter, Node, Reservation, Sample, Share, Step};
use std::rc::Rc;

/// How many slots each array has, all derived from the number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub lanes: usize,
    pub nodes: usize,
    /// As many have room for a clockwork: a bucket that had to be forgotten would begin empty again, and a slow
    /// one would never fill.
    pub gates: usize,
    pub reservations: usize,
    /// Starts are counted for so many tenants, by queue and level.
    pub shares: usize,
    /// Positions of which it is known when they were drawn.
    pub samples: usize,
}

impl Capacity {
    /// A lane commonly brings at most two nodes of its own (session, account); gates outlive their
    /// lanes while jobs run.
    pub const fn for_lanes(lanes: usize) -> Self {
        Self {
            lanes,
            nodes: 2 * lanes + 64,
            gates: 2 * lanes + 4_096,
            reservations: lanes / 4 + 16_384,
            shares: lanes / 4 + 4_096,
            samples: 4_096,
        }
    }

    /// Slot 0 of each array stands for "none".
    pub const fn lane_slots(&self) -> usize {
        self.lanes + 1
    }

    pub const fn entries(&self) -> usize {
        self.lane_slots() + self.nodes
    }

    pub const fn lane_buckets(&self) -> usize {
        self.lane_slots()
    }

    /// Commonly half of the nodes and gates are in use, and a part of the nodes needs no index: chains of two.
    pub const fn node_buckets(&self) -> usize {
        self.nodes / 5 + 1
    }

    pub const fn gate_buckets(&self) -> usize {
        self.gates / 4 + 1
    }

    pub const fn meter_buckets(&self) -> usize {
        self.gates / 4 + 1
    }

    pub const fn share_buckets(&self) -> usize {
        self.shares
    }

    pub const fn reservation_buckets(&self) -> usize {
        self.reservations
    }
}

/// What is not in an array.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    pub(crate) stamp: u64,
    pub(crate) version: u32,
    pub(crate) idle: u32,
    pub(crate) idle_first: u32,
    pub(crate) idle_last: u32,
    /// The first in the chain of the queues that have lanes.
    pub(crate) first_queue: u32,
    pub(crate) outside: Outside,
    /// The slot whose lane was evicted last.
    pub(crate) hand: u32,
    /// Ends of jobs may be heard of before the jobs themselves.
    pub(crate) rebuilding: bool,
    /// Sessions may have terms in the tables: for certain, or as far as a rebuild knows yet.
    pub(crate) paused_sessions: bool,
    pub(crate) unread_sessions: bool,
    pub(crate) timers: u32,
    /// The time of the last pick.
    pub(crate) now: i64,
    /// All starts since then are on record; 0: none was yet.
    pub(crate) metered_since: i64,
    /// How many there are in the calendar, how far apart they are at least, and from when intervals are counted.
    pub(crate) samples: u32,
    pub(crate) sampled_every: i64,
    pub(crate) epoch: i64,
    /// The last position that is known.
    pub(crate) newest: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Pools {
    lanes: Pool,
    nodes: Pool,
    gates: Pool,
    meters: Pool,
    shares: Pool,
    reservations: Pool,
}

/// The parts that a scheduler is put together from; all zero is an empty scheduler.
pub struct Memory<'m> {
    pub header: &'m mut Header,
    pub pools: &'m mut Pools,
    /// As many as lanes and nodes together.
    pub entries: &'m mut [Entry],
    pub lanes: &'m mut [Lane],
    pub lane_buckets: &'m mut [u32],
    pub nodes: &'m mut [Node],
    pub node_buckets: &'m mut [u32],
    pub gates: &'m mut [Gate],
    pub gate_buckets: &'m mut [u32],
    /// As many as gates.
    pub meters: &'m mut [Meter],
    pub meter_buckets: &'m mut [u32],
    /// As many as gates.
    pub timers: &'m mut [u32],
    pub shares: &'m mut [Share],
    pub share_buckets: &'m mut [u32],
    pub calendar: &'m mut [Sample],
    pub reservations: &'m mut [Reservation],
    pub reservation_buckets: &'m mut [u32],
}

pub struct Scheduler<'m> {
    pub(crate) header: &'m mut Header,
    pub(crate) entries: &'m mut [Entry],
    pub(crate) lanes: Slab<'m, Lane>,
    pub(crate) nodes: Slab<'m, Node>,
    pub(crate) gates: Slab<'m, Gate>,
    pub(crate) meters: Slab<'m, Meter>,
    pub(crate) timers: &'m mut [u32],
    pub(crate) shares: Slab<'m, Share>,
    pub(crate) calendar: &'m mut [Sample],
    pub(crate) reservations: Slab<'m, Reservation>,
    /// The keys of the queues that a pick from every queue is about, in order; none: of all. It lives no longer than the lock.
    pub(crate) only: Option<Rc<[u64]>>,
}

impl<'m> Scheduler<'m> {
    pub fn new(memory: Memory<'m>) -> Self {
        Self {
            header: memory.header,
            entries: memory.entries,
            lanes: Slab {
                pool: &mut memory.pools.lanes,
                slots: memory.lanes,
                buckets: memory.lane_buckets,
            },
            nodes: Slab {
                pool: &mut memory.pools.nodes,
                slots: memory.nodes,
                buckets: memory.node_buckets,
            },
            gates: Slab {
                pool: &mut memory.pools.gates,
                slots: memory.gates,
                buckets: memory.gate_buckets,
            },
            meters: Slab {
                pool: &mut memory.pools.meters,
                slots: memory.meters,
                buckets: memory.meter_buckets,
            },
            timers: memory.timers,
            shares: Slab {
                pool: &mut memory.pools.shares,
                slots: memory.shares,
                buckets: memory.share_buckets,
            },
            calendar: memory.calendar,
            reservations: Slab {
                pool: &mut memory.pools.reservations,
                slots: memory.reservations,
                buckets: memory.reservation_buckets,
            },
            only: None,
        }
    }

    /// Empties the memory for another use; open transactions have no part in it.
    pub fn forget_everything(&mut self) {
        self.clear();
        self.reservations.clear();
        let stamp = self.header.stamp.wrapping_add(1);
        *self.header = Header {
            stamp,
            version: self.header.version,
            outside: self.header.outside.after(stamp),
            ..Header::default()
        };
    }

    /// Starts a rebuild: forgets lanes and gates, and holds again what open transactions have reserved.
    /// Trusts nothing but the reservations themselves and that stamps and versions only grow.
    pub fn begin_rebuild(&mut self) -> Step<()> {
        self.clear();
        let stamp = self.header.stamp.wrapping_add(1);
        *self.header = Header {
            stamp,
            outside: self.header.outside.after(stamp),
            version: self.header.version.wrapping_add(1),
            rebuilding: true,
            unread_sessions: true,
            ..Header::default()
        };
        self.restore_reservations()
    }

    /// Forgets all but reservations, touching only what was used.
    fn clear(&mut self) {
        let nodes = self.lanes.slots.len();
        let used = [
            0..self.lanes.used_slots(),
            nodes..nodes + self.nodes.used_slots(),
        ];
        for used in used {
            if let Some(entries) = self.entries.get_mut(used) {
                entries.fill(Entry::default());
            }
        }
        self.lanes.clear();
        self.nodes.clear();
        self.gates.clear();
        self.meters.clear();
        self.shares.clear();
    }

    /// All jobs of the rebuild's snapshot have been counted.
    pub fn end_rebuild(&mut self) -> Step<()> {
        self.header.rebuilding = false;
        for at in self.gates.touched() {
            if self.gate(at)?.held() < 0 {
                return Err(Fault::Corrupt("a rebuilt gate holds less than nothing"));
            }
        }
        Ok(())
    }
}
