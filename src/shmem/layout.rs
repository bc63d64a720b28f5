//! What is where in a window: first what has a fixed size, then the arrays that grow, each with addresses for the most that
//! it can have.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::file;
use super::pools::{Pool, Sizes};
use super::state::DatabaseState;
use crate::pg::settings;
use pgrx::pg_sys;
use std::marker::PhantomData;
use std::ops::Range;
use std::slice::from_raw_parts_mut;
use std::sync::OnceLock;
use turnstile_scheduler::figures::{
    Bin, FigureArray, FigurePools, FiguresHeader, Name, Stats, Text,
};
use turnstile_scheduler::waiting::{Channels, MAX_QUEUES, WaitLists, WaitedQueue, Waiter};
use turnstile_scheduler::workers::{Worker, WorkersHeader};
use turnstile_scheduler::{
    Array, DueQueue, Entry, Gate, Header, Lane, Lease, Meter, Node, OUTSIDE_BUCKETS,
    OUTSIDE_RECORDS, Outside, Pools, Reservation, Sample, Share,
};

/// Arrays begin at multiples of this: no page of the system is longer, so no two arrays share one.
const ALIGNMENT: u64 = 1 << 16;
/// Positions whose time of drawing is known.
const SAMPLES: usize = 4_096;
/// Bytes of a window for each lane that can be in it at most: more than one takes with all that it needs, of the pools whose
/// number of slots has no other bound.
const BYTES_PER_LANE: u64 = 1_024;

/// A range of addresses for elements of some kind.
#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    element: u64,
    pool: Pool,
    /// The place of the pool in [`Sizes`]: it is read with each call.
    nth: usize,
    are_buckets: bool,
}

impl Extent {
    fn elements(&self, slots: usize) -> usize {
        match self.are_buckets {
            true => self.pool.buckets(slots),
            false => slots,
        }
    }

    /// Where the pages of so many slots end.
    fn end(&self, slots: usize) -> u64 {
        let elements = match slots {
            0 => 0,
            some => self.elements(some),
        };
        self.offset + file::pages(elements as u64 * self.element)
    }
}

#[derive(Clone, Copy)]
pub struct Slots<T> {
    extent: Extent,
    of: PhantomData<T>,
}

impl<T> Slots<T> {
    /// # Safety
    /// The window must be this process's alone for as long as the result lives, and have pages for so many slots.
    pub unsafe fn slice<'m>(&self, start: *mut u8, sizes: &Sizes) -> &'m mut [T] {
        let elements = match sizes.of_nth(self.extent.nth) {
            0 => 0,
            slots => self.extent.elements(slots),
        };
        let at = start.wrapping_add(self.extent.offset as usize).cast();
        // SAFETY: aligned, in bounds and disjoint from the other arrays; all-zero is valid for all elements.
        unsafe { from_raw_parts_mut(at, elements) }
    }
}

/// A part of fixed size.
#[derive(Clone, Copy)]
pub struct Part<T> {
    offset: u64,
    pub length: usize,
    of: PhantomData<T>,
}

impl<T> Part<T> {
    pub fn pointer(&self, start: *mut u8) -> *mut T {
        start.wrapping_add(self.offset as usize).cast()
    }

    /// # Safety
    /// As [`Slots::slice`].
    pub unsafe fn slice<'m>(&self, start: *mut u8) -> &'m mut [T] {
        // SAFETY: as the caller says: the part is this process's alone, and has pages. It is aligned and in bounds.
        unsafe { from_raw_parts_mut(self.pointer(start), self.length) }
    }

    /// # Safety
    /// As [`Slots::slice`].
    pub unsafe fn get<'m>(&self, start: *mut u8) -> &'m mut T {
        // SAFETY: as for `slice`; a part has at least one element.
        unsafe { &mut *self.pointer(start) }
    }
}

pub struct Layout {
    pub state: Part<DatabaseState>,
    pub header: Part<Header>,
    pub pools: Part<Pools>,
    pub calendar: Part<Sample>,
    /// They do not grow, because they are needed where nothing can.
    pub outside: Part<Outside>,
    pub outside_buckets: Part<u32>,
    /// As many transactions as the process array has places.
    pub running: Part<u32>,
    pub running_at_count: Part<u32>,
    pub wait_lists: Part<WaitLists>,
    pub waiters: Part<Waiter>,
    pub waited_queues: Part<WaitedQueue>,
    pub channels: Part<Channels>,
    pub figures: Part<FiguresHeader>,
    pub figure_pools: Part<FigurePools>,
    pub worker_list: Part<WorkersHeader>,

    pub lane_entries: Slots<Entry>,
    pub lanes: Slots<Lane>,
    pub lane_buckets: Slots<u32>,
    pub node_entries: Slots<Entry>,
    pub nodes: Slots<Node>,
    pub node_buckets: Slots<u32>,
    pub gates: Slots<Gate>,
    pub gate_buckets: Slots<u32>,
    pub meters: Slots<Meter>,
    pub meter_buckets: Slots<u32>,
    pub timers: Slots<u32>,
    pub shares: Slots<Share>,
    pub share_buckets: Slots<u32>,
    pub reservations: Slots<Reservation>,
    pub reservation_buckets: Slots<u32>,
    pub due: Slots<DueQueue>,
    pub due_buckets: Slots<u32>,
    pub due_order: Slots<u32>,
    pub leases: Slots<Lease>,
    pub lease_buckets: Slots<u32>,
    pub names: Slots<Name>,
    pub name_buckets: Slots<u32>,
    pub texts: Slots<Text>,
    pub bins: Slots<Bin>,
    pub stats: Slots<Stats>,
    pub workers: Slots<Worker>,
    pub worker_buckets: Slots<u32>,

    /// Where the parts of fixed size end.
    fixed: u64,
    /// The most slots that a pool can have that has no other bound.
    most: usize,
}

struct Cursor {
    offset: u64,
    most: usize,
}

impl Cursor {
    fn part<T>(&mut self, length: usize) -> Part<T> {
        let offset = self.offset.next_multiple_of(align_of::<T>().max(64) as u64);
        self.offset = offset + (length * size_of::<T>()) as u64;
        Part {
            offset,
            length,
            of: PhantomData,
        }
    }

    fn slots<T>(&mut self, pool: Pool) -> Slots<T> {
        self.extent(pool, false)
    }

    fn buckets(&mut self, pool: Pool) -> Slots<u32> {
        self.extent(pool, true)
    }

    fn extent<T>(&mut self, pool: Pool, are_buckets: bool) -> Slots<T> {
        let extent = Extent {
            offset: self.offset.next_multiple_of(ALIGNMENT),
            element: size_of::<T>() as u64,
            pool,
            nth: pool.nth(),
            are_buckets,
        };
        self.offset = extent.end(pool.most(self.most));
        Slots {
            extent,
            of: PhantomData,
        }
    }
}

static LAYOUT: OnceLock<Layout> = OnceLock::new();

impl Layout {
    /// The same in all processes.
    pub fn of_window(bytes: u64) -> &'static Self {
        LAYOUT.get_or_init(|| Self::measure(bytes))
    }

    fn measure(window: u64) -> Self {
        // SAFETY: set before any process calls this.
        let backends = unsafe { pg_sys::MaxBackends };
        let running = backends.saturating_add(settings::max_prepared_transactions());
        let [backends, running] = [backends, running].map(|it| usize::try_from(it).unwrap_or(0));
        let most = usize::try_from(window / BYTES_PER_LANE).unwrap_or(usize::MAX);
        let at = &mut Cursor { offset: 0, most };
        let mut layout = Self {
            state: at.part(1),
            header: at.part(1),
            pools: at.part(1),
            calendar: at.part(SAMPLES),
            outside: at.part(OUTSIDE_RECORDS),
            outside_buckets: at.part(OUTSIDE_BUCKETS),
            running: at.part(running),
            running_at_count: at.part(running),
            wait_lists: at.part(1),
            waiters: at.part(backends),
            waited_queues: at.part(backends * MAX_QUEUES),
            channels: at.part(1),
            figures: at.part(1),
            figure_pools: at.part(1),
            worker_list: at.part(1),
            fixed: 0,
            most,
            lane_entries: at.slots(Pool::Of(Array::Lanes)),
            lanes: at.slots(Pool::Of(Array::Lanes)),
            lane_buckets: at.buckets(Pool::Of(Array::Lanes)),
            node_entries: at.slots(Pool::Of(Array::Nodes)),
            nodes: at.slots(Pool::Of(Array::Nodes)),
            node_buckets: at.buckets(Pool::Of(Array::Nodes)),
            gates: at.slots(Pool::Of(Array::Gates)),
            gate_buckets: at.buckets(Pool::Of(Array::Gates)),
            meters: at.slots(Pool::Of(Array::Meters)),
            meter_buckets: at.buckets(Pool::Of(Array::Meters)),
            timers: at.slots(Pool::Of(Array::Meters)),
            shares: at.slots(Pool::Of(Array::Shares)),
            share_buckets: at.buckets(Pool::Of(Array::Shares)),
            reservations: at.slots(Pool::Of(Array::Reservations)),
            reservation_buckets: at.buckets(Pool::Of(Array::Reservations)),
            due: at.slots(Pool::Of(Array::Due)),
            due_buckets: at.buckets(Pool::Of(Array::Due)),
            due_order: at.slots(Pool::Of(Array::Due)),
            leases: at.slots(Pool::Of(Array::Leases)),
            lease_buckets: at.buckets(Pool::Of(Array::Leases)),
            names: at.slots(Pool::OfFigures(FigureArray::Names)),
            name_buckets: at.buckets(Pool::OfFigures(FigureArray::Names)),
            texts: at.slots(Pool::OfFigures(FigureArray::Texts)),
            bins: at.slots(Pool::OfFigures(FigureArray::Bins)),
            stats: at.slots(Pool::OfFigures(FigureArray::Stats)),
            workers: at.slots(Pool::Workers),
            worker_buckets: at.buckets(Pool::Workers),
        };
        layout.fixed = layout.lane_entries.extent.offset;
        layout
    }

    /// The part of the window that never grows.
    pub fn fixed(&self) -> Range<u64> {
        0..self.fixed
    }

    /// The most slots that a pool can have.
    pub fn most(&self, pool: Pool) -> usize {
        pool.most(self.most)
    }

    fn extents(&self) -> [Extent; 27] {
        [
            self.lane_entries.extent,
            self.lanes.extent,
            self.lane_buckets.extent,
            self.node_entries.extent,
            self.nodes.extent,
            self.node_buckets.extent,
            self.gates.extent,
            self.gate_buckets.extent,
            self.meters.extent,
            self.meter_buckets.extent,
            self.timers.extent,
            self.shares.extent,
            self.share_buckets.extent,
            self.reservations.extent,
            self.reservation_buckets.extent,
            self.due.extent,
            self.due_buckets.extent,
            self.due_order.extent,
            self.leases.extent,
            self.lease_buckets.extent,
            self.names.extent,
            self.name_buckets.extent,
            self.texts.extent,
            self.bins.extent,
            self.stats.extent,
            self.workers.extent,
            self.worker_buckets.extent,
        ]
    }

    /// The parts of the window between a pool's ends with fewer and with more slots.
    pub fn between(
        &self,
        pool: Pool,
        fewer: usize,
        more: usize,
    ) -> impl Iterator<Item = Range<u64>> + use<> {
        let extents = self.extents().into_iter();
        let own = extents.filter(move |extent| extent.pool == pool);
        own.map(move |extent| extent.end(fewer)..extent.end(more))
    }
}
