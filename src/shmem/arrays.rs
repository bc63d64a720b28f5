//! The arrays of the scheduler and of the figures in a window.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::layout::Layout;
use super::pools::Sizes;
use turnstile_scheduler::Memory;
use turnstile_scheduler::figures::FiguresMemory;

/// # Safety
/// The lock of the window must be held for as long as the result lives, and its arrays must have pages for these sizes.
pub(super) unsafe fn memory<'m>(layout: &Layout, start: *mut u8, sizes: &Sizes) -> Memory<'m> {
    // SAFETY: as the caller says.
    unsafe {
        Memory {
            header: layout.header.get(start),
            pools: layout.pools.get(start),
            lane_entries: layout.lane_entries.slice(start, sizes),
            lanes: layout.lanes.slice(start, sizes),
            lane_buckets: layout.lane_buckets.slice(start, sizes),
            node_entries: layout.node_entries.slice(start, sizes),
            nodes: layout.nodes.slice(start, sizes),
            node_buckets: layout.node_buckets.slice(start, sizes),
            gates: layout.gates.slice(start, sizes),
            gate_buckets: layout.gate_buckets.slice(start, sizes),
            meters: layout.meters.slice(start, sizes),
            meter_buckets: layout.meter_buckets.slice(start, sizes),
            timers: layout.timers.slice(start, sizes),
            shares: layout.shares.slice(start, sizes),
            share_buckets: layout.share_buckets.slice(start, sizes),
            due: layout.due.slice(start, sizes),
            due_buckets: layout.due_buckets.slice(start, sizes),
            due_order: layout.due_order.slice(start, sizes),
            leases: layout.leases.slice(start, sizes),
            lease_buckets: layout.lease_buckets.slice(start, sizes),
            calendar: layout.calendar.slice(start),
            outside: layout.outside.slice(start),
            outside_buckets: layout.outside_buckets.slice(start),
            reservations: layout.reservations.slice(start, sizes),
            reservation_buckets: layout.reservation_buckets.slice(start, sizes),
        }
    }
}

/// # Safety
/// The lock of the window must be held for as long as the result lives, and its arrays must have pages for these sizes.
pub(super) unsafe fn figures_memory<'m>(
    layout: &Layout,
    start: *mut u8,
    sizes: &Sizes,
) -> FiguresMemory<'m> {
    // SAFETY: as the caller says.
    unsafe {
        FiguresMemory {
            header: layout.figures.get(start),
            pools: layout.figure_pools.get(start),
            names: layout.names.slice(start, sizes),
            name_buckets: layout.name_buckets.slice(start, sizes),
            texts: layout.texts.slice(start, sizes),
            bins: layout.bins.slice(start, sizes),
            stats: layout.stats.slice(start, sizes),
            running: layout.running_at_count.slice(start),
        }
    }
}
