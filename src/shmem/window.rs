//! The window of a database: found or given to it, mapped by this process, and opened while its lock is held.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::directory::{self, Anchor, Entry, Guard, anchor, entry};
use super::growth::Growth;
use super::layout::{Layout, Sizes};
use super::{DatabaseState, Locked, latches, statistics_file};
use crate::pg::error::{Result, on_standby, out_of_memory};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use pgrx::pg_sys;
use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use turnstile_scheduler::figures::{Figures, FiguresMemory};
use turnstile_scheduler::waiting::Waiting;
use turnstile_scheduler::workers::{Workers, WorkersMemory};
use turnstile_scheduler::{Memory, Scheduler};

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
    /// Where this process has mapped the window that it uses.
    static OWN: Cell<(Option<usize>, *mut u8)> = const { Cell::new((None, null_mut())) };
    /// The windows of a process that has no database and looks at all.
    static OTHERS: RefCell<Vec<*mut u8>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn my_database() -> pg_sys::Oid {
    // SAFETY: a constant of the backend.
    unsafe { pg_sys::MyDatabaseId }
}

/// The slot that this backend used last, if it is still the extension's.
pub(super) fn cached_slot(job_table: pg_sys::Oid) -> Option<usize> {
    let is_own = |slot| entry(slot).is_ok_and(|it| it.owner() == (my_database(), job_table));
    SLOT.get()
        .filter(|&slot| is_own(slot) || armed(Seeded::UseForeignSlot))
}

/// Finds the slot of this database; takes a free one, or one whose database is gone, or a new one, if it has none.
///
/// Not on a standby: no trigger fires for what it replays, so its memory would be wrong at once, and would be trusted when the
/// standby is promoted, as sessions live on.
pub(super) fn assign_slot(job_table: pg_sys::Oid) -> Result<usize> {
    if server::is_in_recovery() {
        return Err(on_standby());
    }
    let directory = Guard::of_directory()?;
    let database = my_database();
    let known = find_where(|other| other == database)
        .or_else(|| find_where(|other| other == pg_sys::InvalidOid))
        .or_else(|| find_where(|other| !database_exists(other)));
    let slot = match known {
        Some(slot) => slot,
        None => directory::add()?,
    };
    let guard = Guard::of(slot)?;
    let entry = entry(slot)?;
    let (before, table) = entry.owner();
    let mut calls = Vec::new();
    if before != database {
        give_back_all(slot)?;
    } else if table != job_table && entry.is_backed() {
        // A backend that listened to an extension that was recreated listens on.
        let mut locked = open(slot)?;
        // Where it fails, the memory is found dirty.
        locked.state.dirty = locked.start_anew().is_err();
        calls = std::mem::take(&mut locked.calls);
    }
    if (before, table) != (database, job_table) {
        entry.set_owner(database, job_table);
        entry.routes_version.fetch_add(1, Ordering::Release);
        entry.bounds_version.fetch_add(1, Ordering::Release);
    }
    if before != database {
        statistics_file::read(&mut open(slot)?, database, job_table);
    }
    drop((guard, directory));
    latches::ring(&calls);
    SLOT.set(Some(slot));
    Ok(slot)
}

/// The slot of this database, if it has one.
pub(super) fn existing_slot() -> Result<Option<usize>> {
    let _directory = Guard::of_directory()?;
    Ok(find_where(|database| database == my_database()))
}

/// The database is being dropped: nothing of it is left to look at.
pub fn release(database: pg_sys::Oid) -> Result<()> {
    let _directory = Guard::of_directory()?;
    if let Some(slot) = find_where(|other| other == database) {
        let _guard = Guard::of(slot)?;
        give_back_all(slot)?;
        entry(slot)?.set_owner(pg_sys::InvalidOid, pg_sys::InvalidOid);
    }
    statistics_file::remove(database);
    Ok(())
}

/// The caller holds the directory lock, under which slots change hands.
fn find_where(is_it: impl Fn(pg_sys::Oid) -> bool) -> Option<usize> {
    let owner = |slot| entry(slot).map_or(pg_sys::InvalidOid, |entry| entry.owner().0);
    (0..directory::count()).find(|&slot| is_it(owner(slot)))
}

fn database_exists(database: pg_sys::Oid) -> bool {
    // SAFETY: slots are assigned inside a transaction only.
    unsafe {
        pg_sys::SearchSysCacheExists(
            pg_sys::SysCacheIdentifier::DATABASEOID as i32,
            pg_sys::Datum::from(database),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
        )
    }
}

/// The file's window of a slot: the first is the directory's.
fn window(slot: usize) -> u64 {
    slot as u64 + 1
}

fn map(anchor: &Anchor, slot: usize) -> Result<*mut u8> {
    let mapped = anchor.shape.map(window(slot));
    mapped.map_err(|refused| out_of_memory(refused.into()))
}

/// Where this process has mapped the window.
fn start(anchor: &Anchor, slot: usize) -> Result<*mut u8> {
    if my_database() == pg_sys::InvalidOid {
        return start_of_other(anchor, slot);
    }
    let (known, start) = OWN.get();
    if known == Some(slot) {
        return Ok(start);
    }
    let mapped = map(anchor, slot)?;
    if !start.is_null() {
        // SAFETY: it was mapped below, and no window is open.
        unsafe { anchor.shape.unmap(start) };
    }
    OWN.set((Some(slot), mapped));
    Ok(mapped)
}

fn start_of_other(anchor: &Anchor, slot: usize) -> Result<*mut u8> {
    OTHERS.with_borrow_mut(|starts| {
        while starts.len() <= slot {
            starts.push(map(anchor, starts.len())?);
        }
        Ok(starts.get(slot).copied().unwrap_or(null_mut()))
    })
}

/// Gives all pages of a window back. The caller holds its lock.
fn give_back_all(slot: usize) -> Result<()> {
    let (anchor, entry) = (anchor()?, entry(slot)?);
    if entry.is_backed.swap(false, Ordering::AcqRel) {
        let whole = 0..anchor.shape.window;
        // SAFETY: under the lock the window is this process's alone.
        unsafe {
            let start = start(anchor, slot)?;
            anchor.shape.give_back(window(slot), start, &whole);
        }
        let bytes = entry.bytes.swap(0, Ordering::AcqRel);
        anchor.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }
    Ok(())
}

/// Asks for the pages of what has a fixed size.
fn back(
    anchor: &Anchor,
    entry: &Entry,
    slot: usize,
    layout: &Layout,
    start: *mut u8,
) -> Result<()> {
    let fixed = layout.fixed();
    let backed = anchor.shape.back(window(slot), &fixed);
    backed.map_err(|refused| out_of_memory(refused.into()))?;
    entry.bytes.fetch_add(fixed.end, Ordering::AcqRel);
    anchor.bytes.fetch_add(fixed.end, Ordering::AcqRel);
    // SAFETY: the parts have pages now, and the lock is held.
    unsafe {
        *layout.state.get(start) = DatabaseState::default();
        let channels = layout.channels.get(start);
        channels.clear();
        match anchor.notifier.load(Ordering::Acquire) {
            0 => {}
            who => channels.start_notifier(who),
        }
    }
    entry.is_backed.store(true, Ordering::Release);
    Ok(())
}

/// Opens a window whose lock the caller holds for as long as the result lives.
pub(super) fn open<'m>(slot: usize) -> Result<Locked<'m>> {
    let (anchor, entry) = (anchor()?, entry(slot)?);
    let start = start(anchor, slot)?;
    let layout = Layout::of_window(anchor.shape.window);
    if !entry.is_backed() {
        back(anchor, entry, slot, layout, start)?;
    }
    // SAFETY: the window has pages for what its sizes say, and is this process's alone while the lock is held; the parts
    // are disjoint.
    unsafe {
        let state = layout.state.get(start);
        let sizes = state.sizes;
        Ok(Locked {
            state,
            scheduler: Scheduler::new(memory(layout, start, &sizes)),
            running_at_rebuild: layout.running.slice(start),
            waiting: Waiting {
                lists: layout.wait_lists.get(start),
                waiters: layout.waiters.slice(start),
                waited_queues: layout.waited_queues.slice(start),
            },
            channels: layout.channels.get(start),
            figures: Figures::new(figures_memory(layout, start, &sizes)),
            growth: Growth {
                anchor,
                entry,
                layout,
                window: window(slot),
                start,
            },
            work: Vec::new(),
            calls: Vec::new(),
        })
    }
}

/// # Safety
/// As the result of [`open`].
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
/// As the result of [`open`].
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

impl Locked<'_> {
    /// Opened where it is used: few calls do.
    pub fn workers(&mut self) -> Workers<'_> {
        let Growth { layout, start, .. } = self.growth;
        let sizes = &self.state.sizes;
        // SAFETY: the lock is held as long as `self` lives, which has nothing else of these parts.
        unsafe {
            Workers::new(WorkersMemory {
                header: layout.worker_list.get(start),
                workers: layout.workers.slice(start, sizes),
                buckets: layout.worker_buckets.slice(start, sizes),
            })
        }
    }
}
