//! A row of the server's catalog with columns that may be NULL or of any length.

#![allow(unsafe_code, reason = "reads rows of the catalog")]

use pgrx::FromDatum;
use pgrx::pg_sys::{self, AttrNumber, Datum, HeapTuple, Oid};
use std::ffi::{CStr, c_int};
use std::ptr::null;
use std::slice;

/// It is held for as long as this lives.
pub struct Row {
    cache: c_int,
    row: HeapTuple,
}

/// A number of which the catalog has vectors.
///
/// # Safety
/// It is stored as the type has it.
pub unsafe trait Number: Copy {}

// SAFETY: that of an int2vector.
unsafe impl Number for i16 {}

// SAFETY: that of an oidvector.
unsafe impl Number for Oid {}

impl Row {
    /// That of an OID alone.
    pub fn of(cache: pg_sys::SysCacheIdentifier::Type, oid: Oid) -> Option<Self> {
        let cache = cache.cast_signed();
        // SAFETY: a look-up, inside a transaction.
        let row = unsafe { pg_sys::SearchSysCache1(cache, Datum::from(oid)) };
        (!row.is_null()).then(|| Self { cache, row })
    }

    /// That of a function of a schema that has this name and no arguments.
    pub fn of_function(name: &CStr, schema: Oid) -> Option<Self> {
        let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP.cast_signed();
        // SAFETY: a look-up, inside a transaction.
        let row = unsafe {
            pg_sys::SearchSysCache3(
                cache,
                Datum::from(name.as_ptr()),
                Datum::from(pg_sys::buildoidvector(null(), 0)),
                Datum::from(schema),
            )
        };
        (!row.is_null()).then(|| Self { cache, row })
    }

    /// A column (from 1). What it points to is held with the row.
    pub fn column(&self, number: AttrNumber) -> Option<Datum> {
        let mut is_null = false;
        // SAFETY: the caller knows the columns of the catalog.
        let value = unsafe { pg_sys::SysCacheGetAttr(self.cache, self.row, number, &mut is_null) };
        (!is_null).then_some(value)
    }

    /// A column that is a vector of numbers.
    pub fn numbers<T: Number>(&self, column: AttrNumber) -> Option<Vec<T>> {
        let vector: *const pg_sys::oidvector = self.column(column)?.cast_mut_ptr();
        // SAFETY: as the caller says. Vectors are neither compressed nor stored elsewhere, and differ only in their elements.
        unsafe {
            let count = usize::try_from((*vector).dim1).ok()?;
            let first = (&raw const (*vector).values).cast::<T>();
            Some(slice::from_raw_parts(first, count).to_vec())
        }
    }

    pub fn oid(&self, column: AttrNumber) -> Option<Oid> {
        // SAFETY: numbers point to nothing, whatever they were made of.
        unsafe { Oid::from_datum(self.column(column)?, false) }
    }

    pub fn text(&self, column: AttrNumber) -> Option<String> {
        // SAFETY: the caller knows the columns of the catalog; a tree of nodes is stored as a text, too.
        unsafe { String::from_datum(self.column(column)?, false) }
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
