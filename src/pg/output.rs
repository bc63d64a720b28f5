//! Rows that a set-returning function gives back.

#![allow(unsafe_code, reason = "fills the server's tuple store")]

use crate::pg::call::Call;
use pgrx::pg_sys::{self, Datum};

/// The tuple store of the call; rows are copied into it.
pub struct Output {
    store: *mut pg_sys::Tuplestorestate,
    descriptor: pg_sys::TupleDesc,
    /// Of the row that was added last.
    values: Vec<Datum>,
    nulls: Vec<bool>,
}

impl Output {
    /// Must be created before SPI is connected.
    pub fn of(call: &Call) -> Self {
        // SAFETY: the function is declared to return a set; the call checks that a set can be taken.
        unsafe {
            let fcinfo = call.fcinfo();
            pg_sys::InitMaterializedSRF(fcinfo, 0);
            let info = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            Self {
                store: (*info).setResult,
                descriptor: (*info).setDesc,
                values: Vec::new(),
                nulls: Vec::new(),
            }
        }
    }

    /// Adds a row; missing columns are NULL.
    pub fn push(&mut self, columns: impl Iterator<Item = Option<Datum>>) {
        // SAFETY: the descriptor lives as long as the call.
        let width = usize::try_from(unsafe { (*self.descriptor).natts }).unwrap_or(0);
        self.values.clear();
        self.nulls.clear();
        for column in columns.chain(std::iter::repeat(None)).take(width) {
            self.values.push(column.unwrap_or_else(Datum::null));
            self.nulls.push(column.is_none());
        }
        // SAFETY: both arrays have as many elements as the descriptor has columns.
        unsafe {
            pg_sys::tuplestore_putvalues(
                self.store,
                self.descriptor,
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            );
        }
    }
}
