//! Rows that are written together, page by page, with one record of the log for each page, as COPY writes them.

#![allow(unsafe_code, reason = "calls the executor")]

use super::indexes::enter;
use super::slot::{Slot, slot_of};
use crate::pg::compat;
use crate::pg::error::{Result, internal};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, IndexInfo};
use std::ptr::null_mut;

/// A few pages of small rows. Each row has a slot, which is not free of cost.
const MOST_ROWS: usize = 64;
/// As much as COPY keeps back.
const MOST_BYTES: usize = 65_536;

/// Rows of one table that are not written yet, each with what the caller wants to know of it when it is.
pub struct MultiInsert<Note> {
    info: *mut pg_sys::ResultRelInfo,
    state: *mut pg_sys::EState,
    /// Each row has a slot of its own; the others are free.
    slots: Vec<Slot>,
    /// One for each row.
    notes: Vec<Note>,
    bytes: usize,
    summaries: Vec<Summary>,
}

/// A BRIN index. It has an entry for many pages, to which a row adds nothing if one with the same value was added to the same page.
struct Summary {
    index: *mut IndexInfo,
    column: usize,
    /// By row, whether its value is that of the row before.
    is_same: Vec<bool>,
    last: Option<Option<Datum>>,
}

impl<Note: Copy> MultiInsert<Note> {
    /// # Safety
    /// The indexes that `info` has open, and no triggers, are all there is to the table; it stays open until the command ends.
    pub unsafe fn of(info: *mut pg_sys::ResultRelInfo, state: *mut pg_sys::EState) -> Self {
        // SAFETY: the array has as many elements as there are open indexes.
        let indexes = unsafe {
            let count = usize::try_from((*info).ri_NumIndices).unwrap_or(0);
            (0..count).map(|nth| *(*info).ri_IndexRelationInfo.add(nth))
        };
        Self {
            info,
            state,
            slots: Vec::new(),
            notes: Vec::new(),
            bytes: 0,
            // SAFETY: the indexes are open.
            summaries: indexes
                .filter_map(|index| unsafe { Summary::of(info, index) })
                .collect(),
        }
    }

    /// Takes the row in the free slot; true if no more should be taken before they are written.
    ///
    /// # Safety
    /// [`Self::free_slot`] has given the slot, and it holds a row of values that fulfills the constraints.
    pub unsafe fn take(&mut self, note: Note) -> bool {
        let slot = self.free_slot();
        // SAFETY: as the caller says. What the values point to is copied.
        unsafe {
            for summary in &mut self.summaries {
                summary.note(slot);
            }
            let tuple = pg_sys::ExecFetchSlotHeapTuple(slot, true, null_mut());
            self.bytes += usize::try_from((*tuple).t_len).unwrap_or(0);
        }
        self.notes.push(note);
        self.notes.len() >= MOST_ROWS || self.bytes >= MOST_BYTES
    }

    /// Where the next row is put before it is taken.
    pub fn free_slot(&mut self) -> Slot {
        match self.slots.get(self.notes.len()) {
            Some(&slot) => slot,
            None => {
                // SAFETY: the table is open, and the command releases its slots.
                let slot = unsafe {
                    let relation = (*self.info).ri_RelationDesc;
                    slot_of(relation, self.state)
                };
                self.slots.push(slot);
                slot
            }
        }
    }

    /// Writes what was taken. Before a row is entered into the indexes, `prepare` may open those.
    pub fn write(&mut self, mut prepare: impl FnMut(Note)) -> Result<()> {
        if self.notes.is_empty() {
            return Ok(());
        }
        // SAFETY: the slots hold rows of the table, which is open.
        unsafe {
            let relation = (*self.info).ri_RelationDesc;
            let Some(insert) = (*(*relation).rd_tableam).multi_insert else {
                return Err(internal("a table that takes no rows"));
            };
            let count = i32::try_from(self.notes.len()).unwrap_or(0);
            let command = (*self.state).es_output_cid;
            let slots = self.slots.as_mut_ptr();
            pg_guard_ffi_boundary(|| insert(relation, slots, count, command, 0, null_mut()));
            let mut page = pg_sys::InvalidBlockNumber;
            for (nth, (&slot, &note)) in self.slots.iter().zip(&self.notes).enumerate() {
                let at = pgrx::itemptr::item_pointer_get_block_number(&(*slot).tts_tid);
                for summary in &self.summaries {
                    summary.pass_over(page == at && summary.is_same.get(nth) == Some(&true));
                }
                page = at;
                prepare(note);
                enter(self.info, slot, self.state, None);
            }
        }
        for summary in &mut self.summaries {
            summary.pass_over(false);
            summary.is_same.clear();
            summary.last = None;
        }
        self.notes.clear();
        self.bytes = 0;
        Ok(())
    }
}

impl Summary {
    unsafe fn of(info: *mut pg_sys::ResultRelInfo, index: *mut IndexInfo) -> Option<Self> {
        // SAFETY: the index is an open one of the table.
        unsafe {
            let columns = (*(*info).ri_RelationDesc).rd_att;
            let [first, ..] = (*index).ii_IndexAttrNumbers;
            let column = usize::try_from(first).ok().filter(|&column| column > 0)?;
            let is_plain = (*index).ii_Am == pg_sys::BRIN_AM_OID
                && (*index).ii_NumIndexAttrs == 1
                && (*index).ii_ReadyForInserts
                && (*index).ii_Expressions.is_null()
                && (*index).ii_Predicate.is_null()
                && (*compat::attribute(columns, column - 1)).attbyval;
            is_plain.then_some(Self {
                index,
                column,
                is_same: Vec::new(),
                last: None,
            })
        }
    }

    unsafe fn note(&mut self, row: Slot) {
        // SAFETY: the slot holds a row of the table.
        let value = unsafe { RawRow::of(row).up_to(self.column).raw(self.column) };
        let value = Some(value);
        let is_same = std::mem::replace(&mut self.last, value) == value;
        self.is_same.push(is_same);
    }

    fn pass_over(&self, is_told: bool) {
        // SAFETY: the index is open. One that is not ready gets no entry.
        unsafe { (*self.index).ii_ReadyForInserts = !is_told };
    }
}
