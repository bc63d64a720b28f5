//! One command of a transaction, as the executor runs it.

#![allow(unsafe_code, reason = "calls the executor")]

use super::executor;
use super::slot::{Slot, slot_of};
use crate::pg::compat;
use crate::pg::error::Result;
use crate::pg::pause::before_look;
use crate::pg::seeded::{Seeded, armed};
use pgrx::pg_sys::{self, Oid};
use std::cell::RefCell;
use std::mem::size_of;

/// One command of the transaction: it sees what was committed when it began, and what the transaction did before.
pub struct Command {
    pub(super) state: *mut pg_sys::EState,
    opened: RefCell<Vec<*mut pg_sys::ResultRelInfo>>,
}

/// Runs one command on jobs that are locked ([`super::lock_jobs`]). Its snapshot is taken now. What it allocates and finds
/// is gone at its end.
pub fn command<R>(work: impl FnOnce(&Command) -> Result<R>) -> Result<R> {
    before_look();
    // SAFETY: what begins here ends here, in the order in which the executor does it; after an error the abort does.
    unsafe {
        let state = executor::begin(!armed(Seeded::ClaimWithOldSnapshot));
        let context = pg_sys::MemoryContextSwitchTo((*state).es_query_cxt);
        let command = Command {
            state,
            opened: RefCell::default(),
        };
        let result = work(&command)?;
        executor::close(state, &command.opened.take());
        pg_sys::MemoryContextSwitchTo(context);
        executor::end(state);
        Ok(result)
    }
}

/// A node of the executor, all zero but for its tag.
unsafe fn node<T>(tag: pg_sys::NodeTag) -> *mut T {
    // SAFETY: each node begins with its tag; the caller asks for the type that belongs to it.
    unsafe {
        let node: *mut T = pg_sys::palloc0(size_of::<T>()).cast();
        node.cast::<pg_sys::NodeTag>().write(tag);
        node
    }
}

impl Command {
    /// Opens a table until the command ends.
    pub(super) fn open_relation(
        &self,
        table: Oid,
        lock: u32,
    ) -> (pg_sys::Relation, *mut pg_sys::ResultRelInfo) {
        // SAFETY: the end of the command closes what is opened here; the nodes live in its memory.
        unsafe {
            let info = executor::open_table(self.state, table, lock);
            self.opened.borrow_mut().push(info);
            ((*info).ri_RelationDesc, info)
        }
    }

    /// Where the server looks up which columns a command changes: an index on none of them looks for old versions of the
    /// same rows when a page is full.
    pub(super) unsafe fn name_changed(&self, info: *mut pg_sys::ResultRelInfo, columns: &[usize]) {
        // SAFETY: the range table has one entry, that of the open table.
        unsafe {
            let entry: *mut pg_sys::RangeTblEntry = node(pg_sys::NodeTag::T_RangeTblEntry);
            (*entry).rtekind = pg_sys::RTEKind::RTE_RELATION;
            (*entry).relid = (*(*info).ri_RelationDesc).rd_id;
            (*entry).relkind = (*(*(*info).ri_RelationDesc).rd_rel).relkind;
            (*entry).rellockmode = pg_sys::RowExclusiveLock.cast_signed();
            let changed = executor::set_of_columns(columns);
            compat::set_range_table(self.state, entry, changed);
            (*info).ri_RangeTableIndex = 1;
        }
    }

    /// # Safety
    /// The relation must stay open until the command ends.
    pub(super) unsafe fn slot_of(&self, relation: pg_sys::Relation) -> Slot {
        // SAFETY: as the caller says.
        unsafe { slot_of(relation, self.state) }
    }

    /// A slot of values. One of the table loses them when the row in it is stored.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn slot_of_values(&self, relation: pg_sys::Relation) -> Slot {
        // SAFETY: as the caller says, the relation is open; the slot is one of the command's.
        unsafe {
            let slot = pg_sys::ExecAllocTableSlot(
                &mut (*self.state).es_tupleTable,
                (*relation).rd_att,
                &raw const pg_sys::TTSOpsVirtual,
            );
            (*slot).tts_tableOid = (*relation).rd_id;
            slot
        }
    }
}
