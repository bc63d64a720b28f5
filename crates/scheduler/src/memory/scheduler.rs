//! The scheduler: all arrays and the header, borrowed from the caller.

#[cfg(doc)]
use crate::memory::capacity::Array;
use crate::memory::due::DueQueue;
use crate::memory::entry::Entry;
use crate::memory::gate::Gate;
use crate::memory::header::Header;
use crate::memory::lane::Lane;
use crate::memory::lease::Lease;
use crate::memory::meter::Meter;
use crate::memory::node::Node;
use crate::memory::outside::Outside;
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
    pub(crate) due: Pool,
    pub(crate) leases: Pool,
    pub(crate) reservations: Pool,
    pub(crate) outside: Pool,
}

/// The parts of a scheduler. All zero is an empty scheduler. Each array may be longer the next time, or shorter by slots
/// that are not needed (see [`Scheduler::needed`]). Buckets are as many as [`Array::buckets`] says.
pub struct Memory<'m> {
    pub header: &'m mut Header,
    pub pools: &'m mut Pools,
    pub lanes: &'m mut [Lane],
    /// As many as lanes.
    pub lane_entries: &'m mut [Entry],
    pub lane_buckets: &'m mut [u32],
    pub nodes: &'m mut [Node],
    /// As many as nodes.
    pub node_entries: &'m mut [Entry],
    pub node_buckets: &'m mut [u32],
    pub gates: &'m mut [Gate],
    pub gate_buckets: &'m mut [u32],
    pub meters: &'m mut [Meter],
    pub meter_buckets: &'m mut [u32],
    /// As many as meters.
    pub timers: &'m mut [u32],
    pub shares: &'m mut [Share],
    pub share_buckets: &'m mut [u32],
    pub due: &'m mut [DueQueue],
    pub due_buckets: &'m mut [u32],
    /// As many as queues that fall due.
    pub due_order: &'m mut [u32],
    pub leases: &'m mut [Lease],
    pub lease_buckets: &'m mut [u32],
    pub calendar: &'m mut [Sample],
    pub reservations: &'m mut [Reservation],
    pub reservation_buckets: &'m mut [u32],
    pub outside: &'m mut [Outside],
    pub outside_buckets: &'m mut [u32],
}

pub struct Scheduler<'m> {
    pub(crate) header: &'m mut Header,
    pub(crate) lanes: Slab<'m, Lane>,
    pub(crate) nodes: Slab<'m, Node>,
    pub(crate) gates: Slab<'m, Gate>,
    pub(crate) meters: Slab<'m, Meter>,
    pub(crate) timers: &'m mut [u32],
    pub(crate) shares: Slab<'m, Share>,
    pub(crate) due: Slab<'m, DueQueue>,
    pub(crate) due_order: &'m mut [u32],
    pub(crate) leases: Slab<'m, Lease>,
    pub(crate) calendar: &'m mut [Sample],
    pub(crate) reservations: Slab<'m, Reservation>,
    pub(crate) outside: Slab<'m, Outside>,
    /// The sorted keys of the queues that a pick from all queues looks at; none: all of them. It lives no
    /// longer than the lock.
    pub(crate) queue_filter: Option<Rc<[u64]>>,
    /// Room that the caller has not given back yet is lent to a pick. No gate opens by that.
    pub(crate) is_lending: bool,
    /// What a search has found is offered.
    pub(crate) is_searching: bool,
}

impl<'m> Scheduler<'m> {
    pub fn new(memory: Memory<'m>) -> Self {
        Self {
            header: memory.header,
            lanes: Slab {
                pool: &mut memory.pools.lanes,
                slots: memory.lanes,
                beside: memory.lane_entries,
                buckets: memory.lane_buckets,
            },
            nodes: Slab {
                pool: &mut memory.pools.nodes,
                slots: memory.nodes,
                beside: memory.node_entries,
                buckets: memory.node_buckets,
            },
            gates: Slab {
                pool: &mut memory.pools.gates,
                slots: memory.gates,
                beside: &mut [],
                buckets: memory.gate_buckets,
            },
            meters: Slab {
                pool: &mut memory.pools.meters,
                slots: memory.meters,
                beside: &mut [],
                buckets: memory.meter_buckets,
            },
            timers: memory.timers,
            shares: Slab {
                pool: &mut memory.pools.shares,
                slots: memory.shares,
                beside: &mut [],
                buckets: memory.share_buckets,
            },
            due: Slab {
                pool: &mut memory.pools.due,
                slots: memory.due,
                beside: &mut [],
                buckets: memory.due_buckets,
            },
            due_order: memory.due_order,
            leases: Slab {
                pool: &mut memory.pools.leases,
                slots: memory.leases,
                beside: &mut [],
                buckets: memory.lease_buckets,
            },
            calendar: memory.calendar,
            reservations: Slab {
                pool: &mut memory.pools.reservations,
                slots: memory.reservations,
                beside: &mut [],
                buckets: memory.reservation_buckets,
            },
            outside: Slab {
                pool: &mut memory.pools.outside,
                slots: memory.outside,
                beside: &mut [],
                buckets: memory.outside_buckets,
            },
            queue_filter: None,
            is_lending: false,
            is_searching: false,
        }
    }

    /// Goes on with arrays that have other lengths.
    pub fn reopen(&mut self, memory: Memory<'m>) {
        let queue_filter = self.queue_filter.take();
        *self = Self {
            queue_filter,
            ..Self::new(memory)
        };
    }
}
