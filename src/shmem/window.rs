//! The window of a database: mapped by this process, and opened while its lock is held.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::arrays::{figures_memory, memory};
use super::directory::{Anchor, Entry, anchor, entry};
use super::growth::Growth;
use super::layout::Layout;
use super::locked::Locked;
use super::state::DatabaseState;
use crate::pg::error::{Result, out_of_memory};
use pgrx::pg_sys;
use std::cell::{Cell, RefCell};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use turnstile_scheduler::Scheduler;
use turnstile_scheduler::figures::Figures;
use turnstile_scheduler::waiting::Waiting;

thread_local! {
    /// Where this process has mapped the window that it uses.
    static OWN: Cell<(Option<usize>, *mut u8)> = const { Cell::new((None, null_mut())) };
    /// The windows of a process that has no database and looks at all.
    static OTHERS: RefCell<Vec<*mut u8>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn my_database() -> pg_sys::Oid {
    // SAFETY: a constant of the backend.
    unsafe { pg_sys::MyDatabaseId }
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
pub(super) fn give_back_all(slot: usize) -> Result<()> {
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
