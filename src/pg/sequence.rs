//! The page of a sequence: whether anything was done to the sequence since it was last looked at, and many numbers drawn at once.
//! See docs/decisions/057-numbers-drawn-ahead.md.

#![allow(unsafe_code, reason = "reads and writes a page")]

use crate::pg::catalog::{self, Entry};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::{compat, relation, unguarded};
use pgrx::pg_sys::{self, Buffer, Oid, SysCacheIdentifier};
use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

const ONLY_BLOCK: u32 = 0;
const LOCK: c_int = pg_sys::RowExclusiveLock.cast_signed();

/// The row of the catalog about a sequence.
#[repr(C)]
#[derive(Clone, Copy)]
struct Form {
    relation: Oid,
    kind: Oid,
    start: i64,
    increment: i64,
    max: i64,
}

// SAFETY: the server makes the cache of these rows, by the OID of the sequence.
unsafe impl Entry for Form {
    const CACHE: c_int = SysCacheIdentifier::SEQRELID as c_int;
}

/// The only row of a sequence.
#[repr(C)]
struct Row {
    last_value: i64,
    log_cnt: i64,
    is_called: bool,
}

impl Row {
    /// Nothing beyond this number is logged.
    fn set(&mut self, last: i64) {
        self.last_value = last;
        self.log_cnt = 0;
        self.is_called = true;
    }
}

/// Where this process has seen the page of a sequence.
#[derive(Clone, Copy)]
pub struct Place {
    file: compat::File,
    buffer: Buffer,
}

impl Place {
    /// The version that the page has at some moment of this call. None: the page is not there any more, because it was evicted, or
    /// because the sequence has a new file.
    ///
    /// Nothing is locked: a change of the sequence that is not seen here has not come to its end when the call begins. That is so
    /// for `ALTER SEQUENCE`, too, whose old file is gone from memory before anybody hears that it is committed.
    pub fn version(&self) -> Option<u64> {
        // SAFETY: the page is held in memory while its version is read.
        unsafe {
            let is_there = compat::hold_recent(self.file, self.buffer);
            is_there.then(|| {
                let version = version(self.buffer);
                unguarded::ReleaseBuffer(self.buffer);
                version
            })
        }
    }
}

/// The page of a sequence, locked until it is released. An error releases it, too.
pub struct Page {
    sequence: Oid,
    relation: pg_sys::Relation,
    buffer: Buffer,
    /// The largest number that may be drawn from here; none where the server must draw each.
    max: Option<i64>,
}

impl Page {
    pub fn lock(sequence: Oid) -> Self {
        // SAFETY: the OID is that of a sequence, whose file has one page.
        unsafe {
            pg_sys::LockRelationOid(sequence, LOCK);
            let relation = pg_sys::relation_open(sequence, pg_sys::NoLock.cast_signed());
            let max = max_of(sequence, relation);
            let buffer = pg_sys::ReadBuffer(relation, ONLY_BLOCK);
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE.cast_signed());
            Self {
                sequence,
                relation,
                buffer,
                max,
            }
        }
    }

    pub fn place(&self) -> Place {
        Place {
            // SAFETY: the relation is open.
            file: unsafe { compat::file_of(self.relation) },
            buffer: self.buffer,
        }
    }

    /// The place in the log of what last changed the page. To draw or set a number after [`Self::draw`] changes it: the server draws
    /// without a word to the log only what it has logged before, of which that leaves nothing.
    pub fn version(&self) -> u64 {
        // SAFETY: the page is locked.
        unsafe { version(self.buffer) }
    }

    /// The last number that was drawn.
    pub fn last(&self) -> Option<i64> {
        // SAFETY: the page is locked, and has one row.
        unsafe {
            let row = row_of(pg_sys::BufferGetPage(self.buffer));
            (*row).is_called.then_some((*row).last_value)
        }
    }

    /// Draws the next numbers, as many. The log says so before anybody has one of them; so whatever transaction commits one,
    /// its commit comes later in the log. None: here the server must draw each.
    pub fn draw(&self, count: i64) -> Option<RangeInclusive<i64>> {
        // SAFETY: the page is locked, and has one row.
        unsafe {
            let row = row_of(pg_sys::BufferGetPage(self.buffer));
            let was_drawn = i64::from((*row).is_called);
            let last_drawn = (*row).last_value.checked_sub(1 - was_drawn)?;
            let last = last_drawn.checked_add(count)?;
            if self.max.is_none_or(|max| last > max) {
                return None;
            }
            let change = pg_sys::GenericXLogStart(self.relation);
            // As a whole: standbys have another page than this one, as the server logs each 32 numbers in advance.
            let whole = pg_sys::GENERIC_XLOG_FULL_IMAGE.cast_signed();
            let page = pg_sys::GenericXLogRegisterBuffer(change, self.buffer, whole);
            (*row_of(page)).set(last);
            if armed(Seeded::DrawUnlogged) {
                (*row).set(last);
                pg_sys::MarkBufferDirty(self.buffer);
                pg_sys::GenericXLogAbort(change);
            } else {
                pg_sys::GenericXLogFinish(change);
            }
            Some(last_drawn + 1..=last)
        }
    }

    pub fn release(self) {
        // SAFETY: as `lock` has opened it.
        unsafe {
            pg_sys::UnlockReleaseBuffer(self.buffer);
            pg_sys::relation_close(self.relation, pg_sys::NoLock.cast_signed());
            pg_sys::UnlockRelationOid(self.sequence, LOCK);
        }
    }
}

/// # Safety
/// The relation must be an open sequence.
unsafe fn max_of(sequence: Oid, relation: pg_sys::Relation) -> Option<i64> {
    // SAFETY: as the caller says.
    let is_lasting = unsafe {
        (*(*relation).rd_rel).relpersistence.cast_unsigned() == pg_sys::RELPERSISTENCE_PERMANENT
            && !relation::is_own(relation)
    };
    let form = catalog::read(sequence, |form: &Form| *form);
    let form = form.filter(|form| is_lasting && form.increment == 1);
    form.map(|form| form.max)
}

/// # Safety
/// The page must be held in memory.
unsafe fn version(buffer: Buffer) -> u64 {
    // SAFETY: as the caller says. Each page begins with its place in the log, which is read at once, as others may be writing it.
    unsafe {
        let page = pg_sys::BufferGetPage(buffer).cast::<AtomicU64>();
        (*page).load(Ordering::Acquire)
    }
}

/// # Safety
/// The page must be that of a sequence.
unsafe fn row_of(page: pg_sys::Page) -> *mut Row {
    // SAFETY: as the caller says.
    unsafe {
        let items = &raw const (*page.cast::<pg_sys::PageHeaderData>()).pd_linp;
        let offset = (*items.cast::<pg_sys::ItemIdData>()).lp_off();
        let row = page.cast::<u8>().add(offset as usize);
        let header = usize::from((*row.cast::<pg_sys::HeapTupleHeaderData>()).t_hoff);
        row.add(header).cast()
    }
}
