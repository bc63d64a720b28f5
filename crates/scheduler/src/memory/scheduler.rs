//! The scheduler: all arrays and the header, borrowed from the caller.

use crate::memory::entry::Entry;
use crate::memory::gate::Gate;
use crate::memory::header::Header;
use crate::memory::lane::Lane;
use crate::memory::meter::Meter;
use crate::memory::node::Node;
use crate::memory::reservation::Reservation;
use crate::memory::sample::Sample;
use crate::memory::share::Share;
use crate::memory::slab::{Pool, Slab};
use std::rc::Rc;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Pools {
    pub(crate) lanes: Pool,
    pub(crate) nodes: Pool,
    pub(crate) gates: Pool,
    pub(crate) meters: Pool,
    pub(crate) shares: Pool,
    pub(crate) reservations: Pool,
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
}
