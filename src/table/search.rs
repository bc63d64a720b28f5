//! Rows in the order of an index.

use super::{Command, Table};
use crate::tuple::RawRow;
use pgrx::pg_sys::{self, Datum, Oid};
use std::marker::PhantomData;
use std::mem::zeroed;
use std::ptr::null_mut;

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
    index: pg_sys::Relation,
    scan: pg_sys::IndexScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    command: PhantomData<&'c Command>,
}

impl<'c> Table<'c> {
    /// The rows that an index of the table finds, as the command sees them.
    pub fn search(&self, index: Oid, conditions: &[Where]) -> Search<'c> {
        let count = i32::try_from(conditions.len()).unwrap_or(0);
        // SAFETY: the search closes what is opened here.
        let mut search = unsafe {
            let index = pg_sys::index_open(index, pg_sys::AccessShareLock.cast_signed());
            let snapshot = (*self.command.state).es_snapshot;
            Search {
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
            pg_sys::index_getnext_slot(self.scan, forward, self.slot).then(|| RawRow::of(self.slot))
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
