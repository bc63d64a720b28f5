//! Where the rows of the runs are that this backend has started: a hint that saves the search by id when they end.
//!
//! 1. A row that is found so counts only if it is what an index would have found: this command sees it, and the caller looks
//!    whether it is the run. Otherwise, the caller searches.
//! 2. No page behind the end of the table is read: a row may be gone together with its page.

#![allow(unsafe_code, reason = "reads rows by their place")]

use super::command::Command;
use super::opened::Table;
use super::search::Fetch;
use super::slot::Slot;
use crate::pg::error::{Result, internal};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, ItemPointerData};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The most runs that a backend remembers: as many as an open transaction may have claimed. Others may end them.
const MOST: usize = 10_000;

thread_local! {
    static KNOWN: RefCell<FxHashMap<i64, ItemPointerData>> = RefCell::default();
}

/// A run was started in this row.
pub fn note(id: Option<i64>, place: ItemPointerData) {
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.clear();
        }
        known.extend(id.map(|id| (id, place)));
    });
}

pub fn is_known(id: i64) -> bool {
    KNOWN.with_borrow(|known| known.contains_key(&id))
}

/// Reads rows by their places.
pub struct Places<'c> {
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    fetch: Fetch,
    /// Made, as is the number of pages found, for the first row.
    slot: Option<(Slot, pg_sys::BlockNumber)>,
    command: &'c Command,
}

impl<'c> Table<'c> {
    pub fn places(&self) -> Result<Places<'c>> {
        // SAFETY: the table is open until the command ends.
        unsafe {
            let Some(fetch) = (*(*self.relation).rd_tableam).tuple_fetch_row_version else {
                return Err(internal("a table whose rows have no place"));
            };
            Ok(Places {
                table: self.relation,
                snapshot: (*self.command.state).es_snapshot,
                fetch,
                slot: None,
                command: self.command,
            })
        }
    }
}

impl Places<'_> {
    /// What this command sees in the place where a run of the job was started, whatever that is. The place is forgotten.
    pub fn take(&mut self, id: i64) -> Option<RawRow<'_>> {
        let mut place = KNOWN.with_borrow_mut(|known| known.remove(&id))?;
        // SAFETY: the table is open and locked, so it does not become shorter; the row stays in the slot until the next one comes.
        unsafe {
            let (slot, pages) = *self.slot.get_or_insert_with(|| {
                let pages = pg_sys::RelationGetNumberOfBlocksInFork(
                    self.table,
                    pg_sys::ForkNumber::MAIN_FORKNUM,
                );
                (self.command.slot_of(self.table), pages)
            });
            let page = pgrx::itemptr::item_pointer_get_block_number(&place);
            if page >= pages && !armed(Seeded::ReadPastEnd) {
                return None;
            }
            let fetch = self.fetch;
            pg_guard_ffi_boundary(|| fetch(self.table, &mut place, self.snapshot, slot))
                .then(|| RawRow::of(slot))
        }
    }
}
