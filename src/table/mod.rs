//! Reads and changes rows of `turnstile.job` and its history directly, by index and without a plan: with the columns
//! of a job, starting a plan costs more than the change. See docs/decisions/035-hot-paths-without-plans.md.
//!
//! That is done only where the executor would do nothing else ([`surroundings`]). What the executor does there,
//! constraints and indexes, is done here by its own functions. Everywhere else verbs run SQL statements instead.

#![allow(unsafe_code, reason = "calls the executor")]

pub mod backlog;
mod constraints;
mod defaults;
mod executor;
pub mod figures;
mod history;
mod indexes;
pub mod locked;
mod multi_insert;
mod own_indexes;
pub mod parents;
pub mod places;
mod rows;
mod search;
mod slow_jobs;
mod surroundings;
pub mod triggers;
mod whole;

pub use history::{Ended, History, Partition, lock_history, partition, why_not_direct};
pub use search::{Order, Search, Where};
pub use surroundings::{Jobs, lock_jobs};
pub use whole::visit_jobs;

use crate::job::tables;
use crate::pg::compat::{self, Entries};
use crate::pg::error::Result;
use crate::pg::pause::before_look;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use crate::pg::unguarded::ExecStoreAllNullTuple;
use defaults::Defaults;
use indexes::Indexes;
use multi_insert::MultiInsert;
use own_indexes::Entered;
use pgrx::pg_sys::{self, CmdType, Datum, Oid};
use std::cell::RefCell;
use std::mem::size_of;
use std::ptr::null_mut;
use std::rc::Rc;
use turnstile_scheduler::LaneSpec;

/// What is done to the jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: they are only read.
    Look,
    Insert,
    /// An update of these columns (from 1) and no others.
    Update(&'static [usize]),
    Delete,
}

type Slot = *mut pg_sys::TupleTableSlot;

/// One command of the transaction: it sees what was committed when it began, and what the transaction did before.
pub struct Command {
    state: *mut pg_sys::EState,
    opened: RefCell<Vec<*mut pg_sys::ResultRelInfo>>,
}

/// The jobs, as a command reads or changes them.
pub struct Table<'c> {
    command: &'c Command,
    jobs: Rc<Jobs>,
    operation: Operation,
    relation: pg_sys::Relation,
    info: *mut pg_sys::ResultRelInfo,
    /// Made when a row is locked first.
    locked: Option<Slot>,
    /// Null where nothing is written.
    written: Slot,
    /// The values of the next version of a row; null where none is made.
    changed: Slot,
    indexes: Indexes,
    defaults: Option<Defaults>,
    /// Rows that were added and not written yet.
    added: Option<MultiInsert<Entered>>,
    /// The transaction that was last found to hold a row.
    holder: Option<pg_sys::TransactionId>,
}

/// Runs one command on jobs that are locked ([`lock_jobs`]). Its snapshot is taken now. What it allocates and finds
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

/// Enters a row that was stored into the indexes that are open.
unsafe fn enter(
    info: *mut pg_sys::ResultRelInfo,
    row: Slot,
    state: *mut pg_sys::EState,
    update: Option<Entries>,
) {
    // SAFETY: as above; the slot knows where the row is.
    unsafe {
        if (*info).ri_NumIndices > 0 {
            compat::insert_index_entries(info, row, state, update);
        }
    }
}

/// Makes the row in a slot anew, of values for its columns (from 1); the others are NULL.
unsafe fn write(slot: Slot, values: impl IntoIterator<Item = (usize, Option<Datum>)>) {
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

/// A slot for rows of a table.
///
/// # Safety
/// The table must stay open until the command ends, which releases what the slot holds.
unsafe fn slot_of(table: pg_sys::Relation, state: *mut pg_sys::EState) -> Slot {
    // SAFETY: as the caller says.
    unsafe {
        let slot = pg_sys::table_slot_create(table, &mut (*state).es_tupleTable);
        // Constraints may ask for it before the row is stored.
        (*slot).tts_tableOid = (*table).rd_id;
        slot
    }
}

/// Empties a slot, which holds no page then.
///
/// # Safety
/// What it holds is not read any more.
unsafe fn clear(slot: Slot) {
    // SAFETY: as the caller says. Nothing is raised.
    unsafe {
        if let Some(clear) = (*(*slot).tts_ops).clear {
            clear(slot);
        }
    }
}

/// Sets a column (from 1) of the row in a slot.
///
/// # Safety
/// The slot holds a row of values that has the column.
unsafe fn set(slot: Slot, column: usize, value: Option<Datum>) {
    // SAFETY: as the caller says.
    unsafe {
        *(*slot).tts_isnull.add(column - 1) = value.is_none();
        *(*slot).tts_values.add(column - 1) = value.unwrap_or_else(Datum::null);
    }
}

impl Command {
    pub fn open(&self, jobs: &Rc<Jobs>, operation: Operation) -> Table<'_> {
        let (relation, info) = self.open_relation(jobs.table, pg_sys::NoLock);
        // SAFETY: the relation is open until the command ends, and the nodes live in its memory.
        let (indexes, written, changed) = unsafe {
            tables::distrust_own(relation);
            let (written, changed) = match operation {
                Operation::Look | Operation::Delete => (null_mut(), null_mut()),
                Operation::Insert => (self.slot_of(relation), null_mut()),
                Operation::Update(_) => (self.slot_of(relation), self.slot_of_values(relation)),
            };
            (Indexes::of(jobs.clone(), info), written, changed)
        };
        // SAFETY: as above. What is published must be told apart by a key.
        unsafe {
            match operation {
                Operation::Look | Operation::Insert => {}
                Operation::Update(columns) => {
                    self.name_changed(info, columns);
                    pg_sys::CheckCmdReplicaIdentity(relation, CmdType::CMD_UPDATE);
                }
                Operation::Delete => {
                    pg_sys::CheckCmdReplicaIdentity(relation, CmdType::CMD_DELETE);
                }
            }
        }
        Table {
            command: self,
            jobs: jobs.clone(),
            operation,
            relation,
            info,
            locked: None,
            written,
            changed,
            indexes,
            defaults: None,
            added: None,
            holder: None,
        }
    }

    /// Opens a table until the command ends.
    fn open_relation(
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
    unsafe fn name_changed(&self, info: *mut pg_sys::ResultRelInfo, columns: &[usize]) {
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
    unsafe fn slot_of(&self, relation: pg_sys::Relation) -> Slot {
        // SAFETY: as the caller says.
        unsafe { slot_of(relation, self.state) }
    }

    /// A slot of values. One of the table loses them when the row in it is stored.
    ///
    /// # Safety
    /// As above.
    unsafe fn slot_of_values(&self, relation: pg_sys::Relation) -> Slot {
        // SAFETY: as above.
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

impl Table<'_> {
    /// Puts the row that is to be written into its lane, as the BEFORE trigger would.
    fn place(&mut self) -> LaneSpec {
        // SAFETY: the slot holds a row of a job.
        unsafe {
            let row = RawRow::of(self.written);
            let (lane, changes) = triggers::place(&row, None);
            for (column, value) in changes {
                set(self.written, column, value);
            }
            lane
        }
    }

    /// Publishes the row that is to be written, as the AFTER trigger would. An error now undoes all that the call has noted, as an
    /// error of the trigger would.
    fn publish(&self, lane: LaneSpec) -> Result<()> {
        // SAFETY: the slot holds the row.
        let row = unsafe { RawRow::of(self.written) };
        triggers::note_added(self.jobs.table, &row, lane)
    }
}
