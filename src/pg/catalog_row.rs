//! A row of the server's catalog with columns that may be NULL or of any length.

#![allow(unsafe_code, reason = "reads rows of the catalog")]

use pgrx::FromDatum;
use pgrx::pg_sys::{self, AttrNumber, Datum, HeapTuple, Oid};
use std::ffi::c_int;

/// It is held for as long as this lives.
pub struct Row {
    cache: c_int,
    row: HeapTuple,
}

impl Row {
    /// That of an OID alone.
    pub fn of(cache: pg_sys::SysCacheIdentifier::Type, oid: Oid) -> Option<Self> {
        let cache = cache.cast_signed();
        // SAFETY: a look-up, inside a transaction.
        let row = unsafe { pg_sys::SearchSysCache1(cache, Datum::from(oid)) };
        (!row.is_null()).then_some(Self { cache, row })
    }

    /// A column (from 1). What it points to is held with the row.
    pub fn column(&self, number: AttrNumber) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: the caller knows the columns of the catalog.
        let value = unsafe { pg_sys::SysCacheGetAttr(self.cache, self.row, number, &mut is_null) };
        (!is_null).then_some(value)
    }

    /// A column that is a vector of numbers.
    pub fn numbers<T>(&self, column: AttrNumber) -> Option<Vec<T>>
    where
        Vec<T>: FromDatum,
    {
        // SAFETY: as the caller says; it is copied.
        unsafe { Vec::from_datum(self.column(column)?, false) }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: held since `of`; after an error the abort releases it.
            unsafe { pg_sys::ReleaseSysCache(self.row) };
        }
    }
}
