//! Finds rows by an index.

#![allow(unsafe_code, reason = "scans indexes")]

use super::command::Command;
use super::opened::{Operation, Table};
use super::slot::{Slot, clear};
use super::surroundings::Jobs;
use crate::job::column;
use crate::pg::compat;
use crate::pg::error::{Result, internal};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, ItemPointerData, Oid};
use smallvec::SmallVec;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::zeroed;
use std::ptr::null_mut;

/// What an update may add to the row of a job: a worker's name, times.
const GROWTH: usize = 96;
const USUAL_CONDITIONS: usize = 4;

/// The columns by which rows are found, and their order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All, by id.
    ById,
    /// Those that are available, by the group of their lane, the lane and position. The index has those that run, too.
    ByLane,
}

/// A condition on a column (from 1) of numbers by which rows are found.
#[derive(Clone, Copy)]
pub enum Where {
    Is(usize, i64),
    From(usize, i64),
    UpTo(usize, i64),
    Before(usize, i64),
}

impl Order {
    /// The columns of its index.
    fn columns(self) -> &'static [usize] {
        match self {
            Self::ById => &[column::ID],
            Self::ByLane => &[column::LANE_GROUP, column::LANE, column::POSITION],
        }
    }

    fn index(self, jobs: &Jobs) -> Option<Oid> {
        match self {
            Self::ById => jobs.by_id,
            Self::ByLane => jobs.by_lane,
        }
    }

    fn holds(self, row: &RawRow) -> bool {
        match self {
            Self::ById => true,
            Self::ByLane => row.is_available(),
        }
    }
}

impl Where {
    fn column(self) -> usize {
        let (Self::Is(column, _)
        | Self::From(column, _)
        | Self::UpTo(column, _)
        | Self::Before(column, _)) = self;
        column
    }

    fn holds(self, row: &RawRow) -> bool {
        let value = row.int8(self.column());
        value.is_some_and(|value| match self {
            Self::Is(_, wanted) => value == wanted,
            Self::From(_, least) => value >= least,
            Self::UpTo(_, most) => value <= most,
            Self::Before(_, bound) => value < bound,
        })
    }

    fn key(self, order: Order) -> Result<Key> {
        let (strategy, function, value) = match self {
            Self::Is(_, value) => (pg_sys::BTEqualStrategyNumber, pg_sys::F_INT8EQ, value),
            Self::From(_, value) => (
                pg_sys::BTGreaterEqualStrategyNumber,
                pg_sys::F_INT8GE,
                value,
            ),
            Self::UpTo(_, value) => (pg_sys::BTLessEqualStrategyNumber, pg_sys::F_INT8LE, value),
            Self::Before(_, value) => (pg_sys::BTLessStrategyNumber, pg_sys::F_INT8LT, value),
        };
        let mut columns = order.columns().iter();
        let number = columns.position(|&column| column == self.column());
        let number = number.and_then(|place| i16::try_from(place + 1).ok());
        Ok(Key {
            number: number.ok_or_else(|| internal("a search by a column without an index"))?,
            strategy: strategy as u16,
            function: Oid::from_u32(function),
            value: Datum::from(value),
        })
    }
}

/// What makes a key of a scan.
struct Key {
    number: pg_sys::AttrNumber,
    strategy: pg_sys::StrategyNumber,
    function: Oid,
    value: Datum,
}

// As the server's headers declare them: under one guard against errors, one for each takes longer than they do.
unsafe extern "C-unwind" {
    fn ScanKeyInit(
        key: pg_sys::ScanKey,
        number: pg_sys::AttrNumber,
        strategy: pg_sys::StrategyNumber,
        function: Oid,
        value: Datum,
    );
    fn index_rescan(
        scan: pg_sys::IndexScanDesc,
        keys: pg_sys::ScanKey,
        count: c_int,
        orders: pg_sys::ScanKey,
        count_of_orders: c_int,
    );
}

/// # Safety
/// The scan must be open.
unsafe fn restart_index(scan: pg_sys::IndexScanDesc, keys: &[Key]) {
    // SAFETY: as the caller says; the keys are filled in as a whole, and are copied.
    unsafe {
        let mut made: SmallVec<[pg_sys::ScanKeyData; USUAL_CONDITIONS]> =
            keys.iter().map(|_| zeroed()).collect();
        let count = i32::try_from(made.len()).unwrap_or(0);
        pg_guard_ffi_boundary(|| {
            for (to, key) in made.iter_mut().zip(keys) {
                ScanKeyInit(to, key.number, key.strategy, key.function, key.value);
            }
            index_rescan(scan, made.as_mut_ptr(), count, null_mut(), 0);
        });
    }
}

/// Rows that are found one after the other.
pub struct Search<'c> {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    fetch: Fetch,
    /// What is found will be updated.
    wants_room: bool,
    order: Order,
    access: Access,
    slot: Slot,
    command: PhantomData<&'c Command>,
}

enum Access {
    Index {
        index: pg_sys::Relation,
        scan: pg_sys::IndexScanDesc,
    },
    /// Where no valid index serves the search, all rows are read and the places of those that match are sorted.
    Sort {
        places: Vec<ItemPointerData>,
        next: usize,
    },
}

/// How to read a row by its place.
pub type Fetch = unsafe extern "C-unwind" fn(
    pg_sys::Relation,
    pg_sys::ItemPointer,
    pg_sys::Snapshot,
    Slot,
) -> bool;

impl<'c> Table<'c> {
    /// The rows that fulfill the conditions, as the command sees them.
    pub fn search(&self, order: Order, conditions: &[Where]) -> Result<Search<'c>> {
        let mut search = self.prepare_search(order, conditions.len())?;
        search.restart(conditions)?;
        Ok(search)
    }

    /// A search with so many conditions, which [`Search::restart`] gives.
    pub fn prepare_search(&self, order: Order, conditions: usize) -> Result<Search<'c>> {
        let count = i32::try_from(conditions).unwrap_or(0);
        // SAFETY: the search closes what is opened here. The table is locked, so its indexes are what they were found to be.
        unsafe {
            let snapshot = (*self.command.state).es_snapshot;
            let Some(fetch) = (*(*self.relation).rd_tableam).tuple_fetch_row_version else {
                return Err(internal("a table whose rows have no place"));
            };
            let access = match order.index(&self.jobs) {
                Some(index) => {
                    let index = pg_sys::index_open(index, pg_sys::AccessShareLock.cast_signed());
                    let scan = compat::begin_index_scan(self.relation, index, snapshot, count);
                    Access::Index { index, scan }
                }
                None => Access::Sort {
                    places: Vec::new(),
                    next: 0,
                },
            };
            Ok(Search {
                table: self.relation,
                snapshot,
                fetch,
                wants_room: matches!(self.operation, Operation::Update(_)),
                order,
                access,
                slot: self.command.slot_of(self.relation),
                command: PhantomData,
            })
        }
    }
}

impl Search<'_> {
    /// Restarts the search with other values in as many conditions.
    pub fn restart(&mut self, conditions: &[Where]) -> Result<()> {
        if let Access::Index { scan, .. } = self.access {
            let keys = conditions.iter().map(|each| each.key(self.order));
            let keys = keys.collect::<Result<SmallVec<[_; USUAL_CONDITIONS]>>>()?;
            // SAFETY: the scan is open.
            unsafe { restart_index(scan, &keys) };
        } else {
            let places = self.read_all(conditions);
            self.access = Access::Sort { places, next: 0 };
        }
        Ok(())
    }

    /// The places of all rows that fulfill the conditions, in order.
    fn read_all(&mut self, conditions: &[Where]) -> Vec<ItemPointerData> {
        let mut found = Vec::new();
        // SAFETY: the scan is closed when it has come to its end; after an error the abort closes it.
        unsafe {
            let scan = pg_sys::heap_beginscan(
                self.table,
                self.snapshot,
                0,
                null_mut(),
                null_mut(),
                pg_sys::ScanOptions::SO_TYPE_SEQSCAN | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE,
            );
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            while pg_sys::heap_getnextslot(scan, forward, self.slot) {
                pgrx::check_for_interrupts!();
                let row = RawRow::of(self.slot);
                if self.order.holds(&row) && conditions.iter().all(|each| each.holds(&row)) {
                    let columns = self.order.columns().iter();
                    let key: Vec<_> = columns.map(|&column| row.int8(column)).collect();
                    found.push((key, row.place()));
                }
            }
            pg_sys::heap_endscan(scan);
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found.into_iter().map(|(_, place)| place).collect()
    }

    pub fn next(&mut self) -> Option<RawRow<'_>> {
        loop {
            let (place, scan) = match &mut self.access {
                Access::Index { scan, .. } => {
                    let forward = pg_sys::ScanDirection::ForwardScanDirection;
                    // SAFETY: the scan is open.
                    let place = unsafe { pg_sys::index_getnext_tid(*scan, forward) };
                    if place.is_null() {
                        return None;
                    }
                    // SAFETY: it is the place of an entry.
                    (unsafe { *place }, Some(*scan))
                }
                Access::Sort { places, next } => {
                    let place = *places.get(*next)?;
                    *next += 1;
                    (place, None)
                }
            };
            // SAFETY: the row stays in the slot until the next one comes.
            unsafe {
                let is_read = self.read(place);
                if let Some(scan) = scan.filter(|_| is_read) {
                    compat::count_fetched((*scan).indexRelation);
                }
                let is_found =
                    is_read || scan.is_some_and(|scan| pg_sys::index_fetch_heap(scan, self.slot));
                if is_found && self.order.holds(&RawRow::of(self.slot)) {
                    return Some(RawRow::of(self.slot));
                }
                pgrx::check_for_interrupts!();
            }
        }
    }

    /// Reads the row if it is right where the index says. The server's own function prunes the page whenever less is
    /// free than its fillfactor leaves, which takes as long as the rest of a search, to gain room for one row. Here
    /// that is done when the row's next version would not fit.
    unsafe fn read(&mut self, mut place: ItemPointerData) -> bool {
        let fetch = self.fetch;
        // SAFETY: as for `next`. A page is pruned when the search itself has no hold on it.
        unsafe {
            let is_found =
                pg_guard_ffi_boundary(|| fetch(self.table, &mut place, self.snapshot, self.slot));
            if !is_found || !self.wants_room || self.has_room() {
                return is_found;
            }
            let block = pg_sys::BufferGetBlockNumber(self.buffer());
            clear(self.slot);
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
        if let Access::Index { index, scan } = self.access
            && !std::thread::panicking()
        {
            // SAFETY: opened in `search`; after an error the abort closes it.
            unsafe {
                pg_sys::index_endscan(scan);
                pg_sys::index_close(index, pg_sys::NoLock.cast_signed());
            }
        }
    }
}
