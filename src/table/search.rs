//! Rows in the order of an index.

use super::{Command, Operation, Table};
use crate::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, ItemPointerData, Oid};
use std::marker::PhantomData;
use std::mem::zeroed;
use std::ptr::null_mut;

/// What an update may add to a row of a job: a worker's name, times.
const GROWTH: usize = 96;

/// A condition on a column (from 1) of an index on numbers.
#[derive(Clone, Copy)]
pub enum Where {
    Is(i16, i64),
    From(i16, i64),
    UpTo(i16, i64),
    Before(i16, i64),
}

/// Rows in the order of an index.
pub struct Search<'c> {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    /// How to read a row by its place; nothing if the table keeps its rows in another way than the server's own.
    fetch: Option<Fetch>,
    /// What is found will be updated.
    wants_room: bool,
    index: pg_sys::Relation,
    scan: pg_sys::IndexScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    command: PhantomData<&'c Command>,
}

type Fetch = unsafe extern "C-unwind" fn(
    pg_sys::Relation,
    pg_sys::ItemPointer,
    pg_sys::Snapshot,
    *mut pg_sys::TupleTableSlot,
) -> bool;

impl<'c> Table<'c> {
    /// The rows that an index of the table finds, as the command sees them.
    pub fn search(&self, index: Oid, conditions: &[Where]) -> Search<'c> {
        let count = i32::try_from(conditions.len()).unwrap_or(0);
        // SAFETY: the search closes what is opened here.
        let mut search = unsafe {
            let index = pg_sys::index_open(index, pg_sys::AccessShareLock.cast_signed());
            let snapshot = (*self.command.state).es_snapshot;
            let access = (*self.relation).rd_tableam;
            let is_heap = access == pg_sys::GetHeapamTableAmRoutine();
            Search {
                table: self.relation,
                snapshot,
                fetch: is_heap.then(|| (*access).tuple_fetch_row_version).flatten(),
                wants_room: matches!(self.operation, Operation::Update(_)),
                index,
                scan: pg_sys::index_beginscan(self.relation, index, snapshot, count, 0),
                slot: self.command.slot_of(self.relation),
                command: PhantomData,
            }
        };
        search.restart(conditions);
        search
    }
}

impl Where {
    fn key(self) -> pg_sys::ScanKeyData {
        let (column, strategy, function, value) = match self {
            Self::Is(column, value) => (
                column,
                pg_sys::BTEqualStrategyNumber,
                pg_sys::F_INT8EQ,
                value,
            ),
            Self::From(column, value) => (
                column,
                pg_sys::BTGreaterEqualStrategyNumber,
                pg_sys::F_INT8GE,
                value,
            ),
            Self::UpTo(column, value) => (
                column,
                pg_sys::BTLessEqualStrategyNumber,
                pg_sys::F_INT8LE,
                value,
            ),
            Self::Before(column, value) => (
                column,
                pg_sys::BTLessStrategyNumber,
                pg_sys::F_INT8LT,
                value,
            ),
        };
        // SAFETY: the key is filled in as a whole.
        unsafe {
            let mut key: pg_sys::ScanKeyData = zeroed();
            pg_sys::ScanKeyInit(
                &mut key,
                column,
                strategy as u16,
                Oid::from_u32(function),
                Datum::from(value),
            );
            key
        }
    }
}

impl Search<'_> {
    /// Begins anew, with other values in as many conditions.
    pub fn restart(&mut self, conditions: &[Where]) {
        let mut keys: Vec<_> = conditions.iter().map(|each| each.key()).collect();
        let count = i32::try_from(keys.len()).unwrap_or(0);
        // SAFETY: the scan is open; the keys are copied.
        unsafe { pg_sys::index_rescan(self.scan, keys.as_mut_ptr(), count, null_mut(), 0) };
    }

    pub fn next(&mut self) -> Option<RawRow<'_>> {
        // SAFETY: the scan is open; the row stays in the slot until the next one comes.
        unsafe {
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let Some(fetch) = self.fetch else {
                let found = pg_sys::index_getnext_slot(self.scan, forward, self.slot);
                return found.then(|| RawRow::of(self.slot));
            };
            loop {
                let place = pg_sys::index_getnext_tid(self.scan, forward);
                if place.is_null() {
                    return None;
                }
                if self.read(*place, fetch) || pg_sys::index_fetch_heap(self.scan, self.slot) {
                    return Some(RawRow::of(self.slot));
                }
            }
        }
    }

    /// Reads the row if it is right where the index says. The server's own way prunes the page each time that less is
    /// free than its fillfactor leaves, which takes as long as all else of a search, to win room for one row. Here that is
    /// done when the row's next version would not fit.
    unsafe fn read(&mut self, mut place: ItemPointerData, fetch: Fetch) -> bool {
        // SAFETY: as for `next`. A page is pruned when the search itself has no hold on it.
        unsafe {
            let is_found =
                pg_guard_ffi_boundary(|| fetch(self.table, &mut place, self.snapshot, self.slot));
            if !is_found || !self.wants_room || self.has_room() {
                return is_found;
            }
            let block = pg_sys::BufferGetBlockNumber(self.buffer());
            if let Some(clear) = (*(*self.slot).tts_ops).clear {
                pg_guard_ffi_boundary(|| clear(self.slot));
            }
            let buffer = pg_sys::ReadBuffer(self.table, block);
            pg_sys::heap_page_prune_opt(self.table, buffer);
            pg_sys::ReleaseBuffer(buffer);
            pg_guard_ffi_boundary(|| fetch(self.table, &mut place, self.snapshot, self.slot))
        }
    }

    unsafe fn buffer(&self) -> pg_sys::Buffer {
        // SAFETY: the slot is one of the heap and holds a stored row.
        unsafe { (*self.slot.cast::<pg_sys::BufferHeapTupleTableSlot>()).buffer }
    }

    /// Whether the page of the row has room for another version of it.
    unsafe fn has_room(&self) -> bool {
        // SAFETY: the page is held in memory; how much is free may change meanwhile, which does no harm.
        unsafe {
            let slot = self.slot.cast::<pg_sys::HeapTupleTableSlot>();
            let length = usize::try_from((*(*slot).tuple).t_len).unwrap_or(0);
            let page = pg_sys::BufferGetPage(self.buffer());
            pg_sys::PageGetHeapFreeSpace(page) >= length + GROWTH
        }
    }

    /// The row that came last; there must have been one.
    pub fn current(&mut self) -> RawRow<'_> {
        // SAFETY: the row stays in the slot until the next one comes.
        unsafe { RawRow::of(self.slot) }
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened in `search`; after an error the abort closes it.
            unsafe {
                pg_sys::index_endscan(self.scan);
                pg_sys::index_close(self.index, pg_sys::NoLock.cast_signed());
            }
        }
    }
}
