//! The segment of shared memory: its layout, its locks, and the pointers into it.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::backlog::{Backlog, Books, Entry};
use super::{DatabaseState, Locked};
use crate::pg::error::{Result, internal, not_preloaded};
use crate::pg::settings;
use pgrx::{pg_guard, pg_sys};
use std::ptr::{NonNull, null_mut};
use std::slice::from_raw_parts_mut as slice;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use turnstile_scheduler::waiting::Channels;
use turnstile_scheduler::waiting::{MAX_QUEUES, WaitLists, WaitedQueue, Waiter, Waiting};
use turnstile_scheduler::{Capacity, Header, Memory, Pools, Scheduler};

const NAME: &std::ffi::CStr = c"turnstile";
/// Fields start at multiples of this.
const ALIGNMENT: usize = 64;

static mut PREVIOUS_REQUEST_HOOK: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP_HOOK: pg_sys::shmem_startup_hook_type = None;
static mut BASE: *mut u8 = null_mut();
static mut LOCKS: *mut pg_sys::LWLockPadded = null_mut();

/// How large each field of a slot is.
#[derive(Clone, Copy)]
struct Layout {
    capacity: Capacity,
    running: usize,
    backends: usize,
    size: usize,
}

struct Cursor {
    base: *mut u8,
    offset: usize,
}

impl Cursor {
    fn advance<T>(&mut self, count: usize) -> *mut T {
        let at = self.offset.next_multiple_of(ALIGNMENT);
        self.offset = at + count * size_of::<T>();
        self.base.wrapping_add(at).cast()
    }
}

static LAYOUT: OnceLock<Layout> = OnceLock::new();

impl Layout {
    fn of_settings() -> &'static Self {
        LAYOUT.get_or_init(Self::measure)
    }

    fn measure() -> Self {
        let capacity = Capacity::for_lanes(settings::max_lanes());
        // SAFETY: set before the hooks run.
        let backends = unsafe { pg_sys::MaxBackends };
        // As many transactions as the process array has places.
        let running = backends + settings::max_prepared_transactions();
        let mut layout = Self {
            capacity,
            running: usize::try_from(running).unwrap_or(0),
            backends: usize::try_from(backends).unwrap_or(0),
            size: 0,
        };
        let mut cursor = Cursor {
            base: null_mut(),
            offset: 0,
        };
        layout.pointers(&mut cursor);
        layout.size = cursor.offset.next_multiple_of(ALIGNMENT);
        layout
    }

    fn pointers(&self, cursor: &mut Cursor) -> Pointers {
        let capacity = self.capacity;
        Pointers {
            state: cursor.advance(1),
            header: cursor.advance(1),
            pools: cursor.advance(1),
            entries: cursor.advance(capacity.entries()),
            lanes: cursor.advance(capacity.lane_slots()),
            lane_buckets: cursor.advance(capacity.lane_buckets()),
            nodes: cursor.advance(capacity.nodes),
            node_buckets: cursor.advance(capacity.node_buckets()),
            gates: cursor.advance(capacity.gates),
            gate_buckets: cursor.advance(capacity.gate_buckets()),
            meters: cursor.advance(capacity.gates),
            meter_buckets: cursor.advance(capacity.meter_buckets()),
            timers: cursor.advance(capacity.gates),
            shares: cursor.advance(capacity.shares),
            share_buckets: cursor.advance(capacity.share_buckets()),
            calendar: cursor.advance(capacity.samples),
            reservations: cursor.advance(capacity.reservations),
            reservation_buckets: cursor.advance(capacity.reservation_buckets()),
            running: cursor.advance(self.running),
            wait_lists: cursor.advance(1),
            waiters: cursor.advance(self.backends),
            waited_queues: cursor.advance(self.backends * MAX_QUEUES),
            channels: cursor.advance(1),
            books: cursor.advance(1),
            backlog: cursor.advance(self.backlog()),
            backlog_running: cursor.advance(self.running),
        }
    }

    /// Names whose jobs can be counted, with the slots that stay free: a power of two.
    fn backlog(&self) -> usize {
        self.capacity.lanes.next_power_of_two()
    }
}

struct Pointers {
    state: *mut DatabaseState,
    header: *mut Header,
    pools: *mut Pools,
    entries: *mut turnstile_scheduler::Entry,
    lanes: *mut turnstile_scheduler::Lane,
    lane_buckets: *mut u32,
    nodes: *mut turnstile_scheduler::Node,
    node_buckets: *mut u32,
    gates: *mut turnstile_scheduler::Gate,
    gate_buckets: *mut u32,
    meters: *mut turnstile_scheduler::Meter,
    meter_buckets: *mut u32,
    timers: *mut u32,
    shares: *mut turnstile_scheduler::Share,
    share_buckets: *mut u32,
    calendar: *mut turnstile_scheduler::Sample,
    reservations: *mut turnstile_scheduler::Reservation,
    reservation_buckets: *mut u32,
    running: *mut u32,
    wait_lists: *mut WaitLists,
    waiters: *mut Waiter,
    waited_queues: *mut WaitedQueue,
    channels: *mut Channels,
    books: *mut Books,
    backlog: *mut Entry,
    backlog_running: *mut u32,
}

/// Called from `_PG_init` while the server preloads the library.
pub fn install_hooks() {
    // SAFETY: the postmaster is single-threaded.
    unsafe {
        PREVIOUS_REQUEST_HOOK = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request);
        PREVIOUS_STARTUP_HOOK = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(startup);
    }
}

fn total_size() -> usize {
    Layout::of_settings().size * settings::max_databases()
}

#[pg_guard]
unsafe extern "C-unwind" fn request() {
    // SAFETY: called by the postmaster, where both calls are allowed.
    unsafe {
        if let Some(previous) = PREVIOUS_REQUEST_HOOK {
            previous();
        }
        pg_sys::RequestAddinShmemSpace(total_size() + ALIGNMENT);
        let locks = settings::max_databases() + 1;
        pg_sys::RequestNamedLWLockTranche(NAME.as_ptr(), i32::try_from(locks).unwrap_or(i32::MAX));
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn startup() {
    // SAFETY: called at start with the request granted; fresh shared memory is zeroed, which is an
    // empty scheduler, so a page is touched only when it is needed.
    unsafe {
        if let Some(previous) = PREVIOUS_STARTUP_HOOK {
            previous();
        }
        let mut found = false;
        let start = pg_sys::ShmemInitStruct(NAME.as_ptr(), total_size() + ALIGNMENT, &mut found);
        let start = start.cast::<u8>();
        BASE = start.wrapping_add(start.align_offset(ALIGNMENT));
        LOCKS = pg_sys::GetNamedLWLockTranche(NAME.as_ptr());
    }
}

/// Holds an LWLock; releases it also when a panic unwinds.
pub(super) struct Guard(NonNull<pg_sys::LWLock>);

impl Guard {
    /// Lock 0 guards the assignment of slots to databases, lock n+1 the slot n.
    pub(super) fn acquire(index: usize) -> Result<Self> {
        // SAFETY: the tranche has max_databases + 1 locks; LOCKS is null only without the preload.
        unsafe {
            if LOCKS.is_null() {
                return Err(not_preloaded());
            }
            let lock = &raw mut (*LOCKS.wrapping_add(index)).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
            NonNull::new(lock)
                .map(Self)
                .ok_or_else(|| internal("no lock"))
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: acquired in `acquire`, unless error recovery has released all locks already.
        unsafe {
            if pg_sys::LWLockHeldByMe(self.0.as_ptr()) {
                pg_sys::LWLockRelease(self.0.as_ptr());
            }
        }
    }
}

/// # Safety
/// The slot's lock must be held for as long as the result lives.
pub(super) unsafe fn open<'m>(slot: usize) -> Locked<'m> {
    let layout = Layout::of_settings();
    // SAFETY: the segment has max_databases slots of this layout; each pointer is aligned, in
    // bounds, and disjoint from the others; all-zero is valid for every type.
    unsafe {
        let mut cursor = Cursor {
            base: BASE.wrapping_add(slot * layout.size),
            offset: 0,
        };
        let at = layout.pointers(&mut cursor);
        let capacity = layout.capacity;
        let memory = Memory {
            header: &mut *at.header,
            pools: &mut *at.pools,
            entries: slice(at.entries, capacity.entries()),
            lanes: slice(at.lanes, capacity.lane_slots()),
            lane_buckets: slice(at.lane_buckets, capacity.lane_buckets()),
            nodes: slice(at.nodes, capacity.nodes),
            node_buckets: slice(at.node_buckets, capacity.node_buckets()),
            gates: slice(at.gates, capacity.gates),
            gate_buckets: slice(at.gate_buckets, capacity.gate_buckets()),
            meters: slice(at.meters, capacity.gates),
            meter_buckets: slice(at.meter_buckets, capacity.meter_buckets()),
            timers: slice(at.timers, capacity.gates),
            shares: slice(at.shares, capacity.shares),
            share_buckets: slice(at.share_buckets, capacity.share_buckets()),
            calendar: slice(at.calendar, capacity.samples),
            reservations: slice(at.reservations, capacity.reservations),
            reservation_buckets: slice(at.reservation_buckets, capacity.reservation_buckets()),
        };
        Locked {
            state: &mut *at.state,
            scheduler: Scheduler::new(memory),
            running_at_rebuild: slice(at.running, layout.running),
            waiting: Waiting {
                lists: &mut *at.wait_lists,
                waiters: slice(at.waiters, layout.backends),
                waited_queues: slice(at.waited_queues, layout.backends * MAX_QUEUES),
            },
            channels: &mut *at.channels,
            backlog: Backlog {
                books: &mut *at.books,
                entries: slice(at.backlog, layout.backlog()),
                running: slice(at.backlog_running, layout.running),
            },
            work: Vec::new(),
            calls: Vec::new(),
        }
    }
}

/// The first field of a slot.
fn state(slot: usize) -> *mut DatabaseState {
    let size = Layout::of_settings().size;
    // SAFETY: BASE is set once, before any backend starts.
    unsafe { BASE }.wrapping_add(slot * size).cast()
}

pub(super) fn routes_version(slot: usize) -> u64 {
    // SAFETY: the state is in bounds and aligned; the field is atomic, as it is read without the lock.
    unsafe { &(*state(slot)).routes_version }.load(Ordering::Acquire)
}

pub(super) fn bounds_version(slot: usize) -> u64 {
    // SAFETY: as above.
    unsafe { &(*state(slot)).bounds_version }.load(Ordering::Acquire)
}

/// The database and the table of a slot. Read without the slot's lock: a caller that acts on them checks again under
/// the lock.
pub(super) fn peek(slot: usize) -> (pg_sys::Oid, pg_sys::Oid) {
    let state = state(slot);
    // SAFETY: the state is in bounds and aligned.
    unsafe {
        (
            (&raw const (*state).database).read_volatile(),
            (&raw const (*state).job_table).read_volatile(),
        )
    }
}
