//! Rows in memory, as the executor hands them on.

#![allow(unsafe_code, reason = "calls the executor")]

use crate::pg::unguarded::ExecStoreAllNullTuple;
use pgrx::pg_sys::{self, Datum};

pub type Slot = *mut pg_sys::TupleTableSlot;

/// A slot for rows of a table.
///
/// # Safety
/// The table must stay open until the command ends, which releases what the slot holds.
pub unsafe fn slot_of(table: pg_sys::Relation, state: *mut pg_sys::EState) -> Slot {
    // SAFETY: as the caller says.
    unsafe {
        let slot = pg_sys::table_slot_create(table, &mut (*state).es_tupleTable);
        // Constraints may ask for it before the row is stored.
        (*slot).tts_tableOid = (*table).rd_id;
        slot
    }
}

/// Makes the row in a slot anew, of values for its columns (from 1); the others are NULL.
pub unsafe fn write(slot: Slot, values: impl IntoIterator<Item = (usize, Option<Datum>)>) {
    // SAFETY: empties the slot and fills it with as many NULLs as there are columns; only those are set.
    unsafe {
        ExecStoreAllNullTuple(slot);
        let width = usize::try_from((*(*slot).tts_tupleDescriptor).natts).unwrap_or(0);
        for (column, value) in values {
            if (1..=width).contains(&column) {
                set(slot, column, value);
            }
        }
    }
}

/// Sets a column (from 1) of the row in a slot.
///
/// # Safety
/// The slot holds a row of values that has the column.
pub unsafe fn set(slot: Slot, column: usize, value: Option<Datum>) {
    // SAFETY: as the caller says.
    unsafe {
        *(*slot).tts_isnull.add(column - 1) = value.is_none();
        *(*slot).tts_values.add(column - 1) = value.unwrap_or_else(Datum::null);
    }
}

/// Empties a slot, which holds no page then.
///
/// # Safety
/// What it holds is not read any more.
pub unsafe fn clear(slot: Slot) {
    // SAFETY: as the caller says. Nothing is raised.
    unsafe {
        if let Some(clear) = (*(*slot).tts_ops).clear {
            clear(slot);
        }
    }
}
