//! A row in a tuple slot. The only reader of slots.

use pgrx::FromDatum;
use pgrx::pg_sys::{self, Datum};
use std::marker::PhantomData;

/// The first columns of a row, as stored.
pub struct RawRow<'slot> {
    slot: *mut pg_sys::TupleTableSlot,
    columns: usize,
    lives: PhantomData<&'slot pg_sys::TupleTableSlot>,
}

impl RawRow<'_> {
    /// # Safety
    /// `slot` must hold a tuple for as long as the row is used.
    pub unsafe fn of(slot: *mut pg_sys::TupleTableSlot) -> Self {
        let row = Self {
            slot,
            columns: 0,
            lives: PhantomData,
        };
        row.up_to(Self::COLUMNS)
    }

    /// Where the tuple is stored.
    pub fn place(&self) -> pg_sys::ItemPointerData {
        // SAFETY: the slot holds a stored tuple.
        unsafe { (*self.slot).tts_tid }
    }

    /// Whether nobody had locked or changed the row when it was read; an aborted transaction may count as somebody.
    pub fn was_free(&self) -> bool {
        // SAFETY: a slot of this kind begins with that of a tuple, which stays in its page meanwhile.
        unsafe {
            if !std::ptr::eq(
                (*self.slot).tts_ops,
                &raw const pg_sys::TTSOpsBufferHeapTuple,
            ) {
                return false;
            }
            let tuple = (*self.slot.cast::<pg_sys::HeapTupleTableSlot>()).tuple;
            !tuple.is_null()
                && u32::from((*(*tuple).t_data).t_infomask) & pg_sys::HEAP_XMAX_INVALID != 0
        }
    }

    /// Makes the columns up to this one readable.
    pub fn up_to(mut self, column: usize) -> Self {
        // SAFETY: the slot holds a tuple; columns beyond its descriptor are not asked for.
        unsafe {
            let natts = (*(*self.slot).tts_tupleDescriptor).natts;
            self.columns = column.min(usize::try_from(natts).unwrap_or(0));
            let columns = i32::try_from(self.columns).unwrap_or(0);
            if i32::from((*self.slot).tts_nvalid) < columns {
                pg_sys::slot_getsomeattrs_int(self.slot, columns);
            }
        }
        self
    }

    /// The same row with the columns up to this one.
    pub fn again(&self, column: usize) -> Self {
        let row = Self {
            slot: self.slot,
            columns: 0,
            lives: PhantomData,
        };
        row.up_to(column)
    }

    /// The readable columns with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (usize, Option<Datum>)> {
        (1..=self.columns).map(|column| (column, self.raw(column)))
    }

    /// A column (from 1); a datum passed by reference lives as long as the tuple in the slot.
    pub fn raw(&self, column: usize) -> Option<Datum> {
        if column == 0 || column > self.columns {
            return None;
        }
        // SAFETY: `up_to` has filled in this many values.
        unsafe {
            let is_null = *(*self.slot).tts_isnull.add(column - 1);
            (!is_null).then(|| *(*self.slot).tts_values.add(column - 1))
        }
    }

    fn value<'row, T: FromDatum + 'row>(&'row self, column: usize) -> Option<T> {
        // SAFETY: callers name columns by the types of the schema.
        self.raw(column)
            .and_then(|datum| unsafe { T::from_datum(datum, false) })
    }

    pub fn text(&self, column: usize) -> Option<&str> {
        self.value(column)
    }

    pub fn int8(&self, column: usize) -> Option<i64> {
        self.value(column)
    }

    pub fn int4(&self, column: usize) -> Option<i32> {
        self.value(column)
    }

    pub fn boolean(&self, column: usize) -> Option<bool> {
        self.value(column)
    }
}
