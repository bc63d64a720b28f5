//! Which window of the file belongs to which database. The first window is this list; it is as long as it has to be.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::file::{self, Shape};
use super::stock::Stock;
use crate::pg::error::{Result, internal, not_preloaded, out_of_memory};
use crate::pg::unguarded;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::io::ErrorKind;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

const NAME: &std::ffi::CStr = c"turnstile";

/// What is stored once for the server, in its own shared memory.
#[repr(C)]
#[derive(Default)]
pub struct Anchor {
    pub shape: Shape,
    /// Entries that were ever in use.
    entries: AtomicU32,
    /// What all databases have, in bytes.
    pub bytes: AtomicU64,
    /// The number of the process that notifies listeners; 0: none runs.
    pub notifier: AtomicU32,
    /// The database in which a worker came to its end last.
    pub visited: AtomicU32,
    /// The server has not come from a shutdown, so commits that nobody waited for may be missing.
    may_lack_commits: AtomicBool,
}

/// A window, and the database that has it.
#[repr(C, align(64))]
pub struct Entry {
    lock: UnsafeCell<pg_sys::LWLockPadded>,
    database: AtomicU32,
    /// The OID of `turnstile.job`: a new one after `DROP EXTENSION` and `CREATE EXTENSION`.
    job_table: AtomicU32,
    /// The part of the window whose size never changes has pages.
    pub is_backed: AtomicBool,
    /// A change was not noted, because its process could not reach the memory.
    pub has_missed_changes: AtomicBool,
    /// Something has found no room since this was last looked at.
    pub lacks_memory: AtomicBool,
    /// What the database has, in bytes.
    pub bytes: AtomicU64,
    /// For those who want to see it.
    pub lanes: AtomicU32,
    pub gates: AtomicU32,
    pub lanes_outside: AtomicU64,
    /// Changes whenever routes or settings of queues do; read without the lock.
    pub routes_version: AtomicU64,
    /// Changes whenever bounds of backlogs do; read without the lock.
    pub bounds_version: AtomicU64,
    /// Of `job_id_seq`; without the lock.
    pub ids: Stock,
    /// Of `job_position_seq`; without the lock.
    pub positions: Stock,
    /// 0: nobody has asked for it yet. It stays for as long as the server runs.
    pub claim_epoch: AtomicU32,
}

static mut ANCHOR: *mut Anchor = null_mut();
static mut ENTRIES: *mut Entry = null_mut();
static mut LOCKS: *mut pg_sys::LWLockPadded = null_mut();

/// Asks the server for what [`make`] takes. Called by the postmaster.
pub(super) fn request() {
    // SAFETY: called from the hook in which both calls are allowed.
    unsafe {
        pg_sys::RequestAddinShmemSpace(size_of::<Anchor>());
        pg_sys::RequestNamedLWLockTranche(NAME.as_ptr(), 1);
    }
}

/// Makes an empty directory. Called by the postmaster at its start, and again after a crash, when no other process is
/// left.
pub(super) fn make() -> Result<()> {
    let shape = file::make().map_err(|refused| out_of_memory(refused.into()))?;
    // SAFETY: the postmaster has one thread; the segment was granted. Its children inherit what is set.
    unsafe {
        let mut found = false;
        let anchor = pg_sys::ShmemInitStruct(NAME.as_ptr(), size_of::<Anchor>(), &mut found);
        ANCHOR = anchor.cast();
        ANCHOR.write(Anchor {
            shape,
            ..Anchor::default()
        });
        LOCKS = pg_sys::GetNamedLWLockTranche(NAME.as_ptr());
        if ENTRIES.is_null() {
            let start = shape.map(0);
            ENTRIES = start
                .map_err(|refused| out_of_memory(refused.into()))?
                .cast();
        }
    }
    Ok(())
}

/// Called by the postmaster when it has made the directory.
pub(super) fn note_start(may_lack_commits: bool) {
    if let Ok(anchor) = anchor() {
        anchor
            .may_lack_commits
            .store(may_lack_commits, Ordering::Release);
    }
}

pub(super) fn may_lack_commits() -> bool {
    anchor().is_ok_and(|anchor| anchor.may_lack_commits.load(Ordering::Acquire))
}

pub(super) fn anchor() -> Result<&'static Anchor> {
    // SAFETY: set before any backend starts, for as long as the process lives; what changes is atomic.
    unsafe { ANCHOR.as_ref() }.ok_or_else(not_preloaded)
}

/// The entry of a window, counted from 0.
pub(super) fn entry(slot: usize) -> Result<&'static Entry> {
    if slot >= count() {
        return Err(internal("no such window"));
    }
    // SAFETY: the first `count` entries have pages and are never given back; what changes is atomic or behind the lock.
    unsafe { ENTRIES.wrapping_add(slot).as_ref() }.ok_or_else(not_preloaded)
}

/// Windows that were ever in use.
pub(super) fn count() -> usize {
    anchor().map_or(0, |anchor| anchor.entries.load(Ordering::Acquire) as usize)
}

/// Adds an entry. The caller holds [`Guard::of_directory`].
pub(super) fn add() -> Result<usize> {
    let anchor = anchor()?;
    let slot = count();
    let size = size_of::<Entry>() as u64;
    let end = (slot as u64 + 1) * size;
    // The first window is the directory's.
    if slot as u64 + 1 >= anchor.shape.windows || end > anchor.shape.window {
        return Err(out_of_memory(ErrorKind::OutOfMemory.into()));
    }
    let part = file::pages(end - size)..file::pages(end);
    if !part.is_empty() {
        let backed = anchor.shape.back(0, &part);
        backed.map_err(|refused| out_of_memory(refused.into()))?;
    }
    // SAFETY: the entry has pages, all zero, and no other process knows of it before the count says so.
    unsafe {
        let tranche = (*LOCKS).lock.tranche;
        let lock = UnsafeCell::raw_get(&raw const (*ENTRIES.wrapping_add(slot)).lock);
        pg_sys::LWLockInitialize(&raw mut (*lock).lock, i32::from(tranche));
    }
    anchor.entries.fetch_add(1, Ordering::Release);
    Ok(slot)
}

impl Entry {
    /// Called under the lock, or by what only wants to know whether there is something to look at.
    pub fn is_backed(&self) -> bool {
        self.is_backed.load(Ordering::Acquire)
    }

    /// The database and the table. Without the lock, a caller that acts on them checks again under the lock.
    pub fn owner(&self) -> (pg_sys::Oid, pg_sys::Oid) {
        (
            self.database.load(Ordering::Acquire).into(),
            self.job_table.load(Ordering::Acquire).into(),
        )
    }

    /// Called under the lock.
    pub fn set_owner(&self, database: pg_sys::Oid, job_table: pg_sys::Oid) {
        self.ids.clear();
        self.positions.clear();
        self.claim_epoch.store(0, Ordering::Release);
        self.database.store(database.into(), Ordering::Release);
        self.job_table.store(job_table.into(), Ordering::Release);
    }
}

/// A process that holds a lock soon lets go of it: sooner than another one falls asleep and is woken. Each try waits twice as long as the
/// one before, so that many processes do not take the lock's memory from the holder.
const TRIES: u32 = 8;

/// Holds an LWLock; releases it also when a panic unwinds.
pub(super) struct Guard(NonNull<pg_sys::LWLock>);

impl Guard {
    /// Under which windows change hands.
    pub fn of_directory() -> Result<Self> {
        // SAFETY: null only without the preload.
        match unsafe { LOCKS.as_mut() } {
            Some(padded) => Self::acquire(&raw mut padded.lock),
            None => Err(not_preloaded()),
        }
    }

    /// Under which a window is read and changed.
    pub fn of(slot: usize) -> Result<Self> {
        // SAFETY: the lock is in shared memory; only the server looks into it.
        Self::acquire(unsafe { &raw mut (*entry(slot)?.lock.get()).lock })
    }

    fn acquire(lock: *mut pg_sys::LWLock) -> Result<Self> {
        let held = NonNull::new(lock).ok_or_else(|| internal("no lock"))?;
        let exclusive = pg_sys::LWLockMode::LW_EXCLUSIVE;
        for doublings in 0..TRIES {
            // SAFETY: the lock is initialized.
            if unsafe { pg_sys::LWLockConditionalAcquire(lock, exclusive) } {
                return Ok(Self(held));
            }
            (0..1 << doublings).for_each(|_| std::hint::spin_loop());
        }
        // SAFETY: the lock is initialized.
        unsafe { pg_sys::LWLockAcquire(lock, exclusive) };
        Ok(Self(held))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: acquired in `acquire`, unless error recovery has released all locks already.
        unsafe {
            if unguarded::LWLockHeldByMe(self.0.as_ptr()) {
                pg_sys::LWLockRelease(self.0.as_ptr());
            }
        }
    }
}
