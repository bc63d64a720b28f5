//! Rows that are found by index and changed as the executor does it, with row triggers, constraints and indexes, but
//! without a plan: for the columns of a job, starting a plan costs more than the change. Logical replication applies
//! its changes through the same functions. See docs/decisions/035-hot-paths-without-plans.md.
//!
//! Where `turnstile.job` has no row triggers but the extension's own, what they do is done right here, and of its own
//! indexes only those are opened that get an entry. Otherwise all goes the server's usual way ([`shape`]).

mod at_once;
mod change;
mod indexes;
mod lock;
mod partitions;
mod search;
mod shape;
mod together;

pub use at_once::Attempt;
pub use lock::Lock;
pub use search::{Search, Where};

use crate::error::Result;
use crate::job_triggers;
use crate::seeded::{Seeded, armed};
use crate::tuple::RawRow;
use indexes::Indexes;
use partitions::Partitions;
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::RefCell;
use std::mem::size_of;
use std::ptr::null_mut;
use together::Together;

/// What is done to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: it is only read.
    Look,
    Insert,
    /// Of these columns (from 1) and no others.
    Update(&'static [usize]),
    Delete,
}

/// One command of the transaction: it sees what was committed when it began, and what the transaction did before.
pub struct Command {
    state: *mut pg_sys::EState,
    opened: RefCell<Vec<(*mut pg_sys::ResultRelInfo, Operation)>>,
    partitions: RefCell<Partitions>,
}

/// A table that a command reads or changes.
pub struct Table<'c> {
    command: &'c Command,
    operation: Operation,
    relation: pg_sys::Relation,
    info: *mut pg_sys::ResultRelInfo,
    locked: *mut pg_sys::TupleTableSlot,
    written: *mut pg_sys::TupleTableSlot,
    /// Unless rows have to go the usual way.
    own: Option<Indexes>,
    /// Rows that were added and not written yet.
    together: Option<Together>,
    /// The transaction that was last found to hold a row.
    holder: Option<pg_sys::TransactionId>,
}

/// Runs one command; its AFTER triggers fire at its end. What it allocates is gone then, as is what it found.
pub fn command<R>(work: impl FnOnce(&Command) -> Result<R>) -> Result<R> {
    // SAFETY: what begins here ends here, in the order in which the executor does it; after an error the abort does.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::PushActiveSnapshot(match armed(Seeded::ClaimWithOldSnapshot) {
            true => pg_sys::GetTransactionSnapshot(),
            false => pg_sys::GetLatestSnapshot(),
        });
        let state = pg_sys::CreateExecutorState();
        (*state).es_snapshot = pg_sys::GetActiveSnapshot();
        (*state).es_output_cid = pg_sys::GetCurrentCommandId(true);
        let context = pg_sys::MemoryContextSwitchTo((*state).es_query_cxt);
        pg_sys::AfterTriggerBeginQuery();
        let command = Command {
            state,
            opened: RefCell::default(),
            partitions: RefCell::default(),
        };
        let result = work(&command)?;
        command.end();
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::FreeExecutorState(state);
        pg_sys::PopActiveSnapshot();
        pg_sys::CommandCounterIncrement();
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

/// Checks the row in a slot as the executor does.
unsafe fn check(
    info: *mut pg_sys::ResultRelInfo,
    row: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
) {
    // SAFETY: the slot holds a row of the table, which is open.
    unsafe {
        if !(*(*(*info).ri_RelationDesc).rd_att).constr.is_null() {
            pg_sys::ExecConstraints(info, row, state);
        }
    }
}

/// Enters a row that was stored into the indexes that are open.
unsafe fn enter(
    info: *mut pg_sys::ResultRelInfo,
    row: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    is_update: bool,
) {
    // SAFETY: as above; the slot knows where the row is.
    unsafe {
        if (*info).ri_NumIndices > 0 {
            pg_sys::ExecInsertIndexTuples(
                info,
                row,
                state,
                is_update,
                false,
                null_mut(),
                null_mut(),
            );
        }
    }
}

impl Command {
    pub fn open(&self, table: Oid, operation: Operation) -> Table<'_> {
        // SAFETY: `end` closes what is opened here; the nodes live in the command's memory.
        unsafe {
            let lock = match operation {
                Operation::Look => pg_sys::AccessShareLock,
                _ => pg_sys::RowExclusiveLock,
            };
            let relation = pg_sys::table_open(table, lock.cast_signed());
            let info: *mut pg_sys::ResultRelInfo = node(pg_sys::NodeTag::T_ResultRelInfo);
            let is_written = matches!(operation, Operation::Insert | Operation::Update(_));
            let shape = shape::of(relation).filter(|_| operation != Operation::Look);
            let own = shape.map(|shape| Indexes::of(shape, info));
            if own.is_some() || operation == Operation::Look {
                (*info).ri_RelationDesc = relation;
            } else {
                pg_sys::InitResultRelInfo(info, relation, 0, null_mut(), 0);
            }
            self.keep_open(info, operation);
            match operation {
                Operation::Look => {}
                Operation::Insert => pg_sys::ExecBSInsertTriggers(self.state, info),
                Operation::Update(columns) => {
                    self.name_changed(info, columns);
                    pg_sys::ExecBSUpdateTriggers(self.state, info);
                }
                Operation::Delete => pg_sys::ExecBSDeleteTriggers(self.state, info),
            }
            if is_written && own.is_none() && !(*relation).rd_tableam.is_null() {
                pg_sys::ExecOpenIndices(info, false);
            }
            Table {
                command: self,
                operation,
                relation,
                info,
                locked: self.slot_of(relation),
                written: self.slot_of(relation),
                own,
                together: None,
                holder: None,
            }
        }
    }

    /// Opens a partition for rows whose command names the whole table.
    fn open_partition(&self, partition: Oid) -> *mut pg_sys::ResultRelInfo {
        // SAFETY: as in `open`. Triggers of statements are those of the whole table.
        unsafe {
            let relation = pg_sys::table_open(partition, pg_sys::RowExclusiveLock.cast_signed());
            let info = node(pg_sys::NodeTag::T_ResultRelInfo);
            pg_sys::InitResultRelInfo(info, relation, 0, null_mut(), 0);
            self.keep_open(info, Operation::Look);
            pg_sys::ExecOpenIndices(info, false);
            info
        }
    }

    /// Has `end` close the table.
    unsafe fn keep_open(&self, info: *mut pg_sys::ResultRelInfo, operation: Operation) {
        // SAFETY: the list lives in the command's memory.
        unsafe {
            let opened = &mut (*self.state).es_opened_result_relations;
            *opened = pg_sys::lappend(*opened, info.cast());
        }
        self.opened.borrow_mut().push((info, operation));
    }

    /// Where the server looks up which columns a command changes: triggers with `UPDATE OF` fire for some only, and an index
    /// on none of them looks for old versions of the same rows when a page is full.
    unsafe fn name_changed(&self, info: *mut pg_sys::ResultRelInfo, columns: &[usize]) {
        // SAFETY: the range table has one entry, that of the open table.
        unsafe {
            let entry: *mut pg_sys::RangeTblEntry = node(pg_sys::NodeTag::T_RangeTblEntry);
            (*entry).rtekind = pg_sys::RTEKind::RTE_RELATION;
            (*entry).relid = (*(*info).ri_RelationDesc).rd_id;
            (*entry).relkind = (*(*(*info).ri_RelationDesc).rd_rel).relkind;
            (*entry).rellockmode = pg_sys::RowExclusiveLock.cast_signed();
            for &column in columns {
                let bit =
                    i32::try_from(column).unwrap_or(0) - pg_sys::FirstLowInvalidHeapAttributeNumber;
                (*entry).updatedCols = pg_sys::bms_add_member((*entry).updatedCols, bit);
            }
            pg_sys::ExecInitRangeTable(self.state, pg_sys::lappend(null_mut(), entry.cast()));
            (*info).ri_RangeTableIndex = 1;
        }
    }

    fn slot_of(&self, relation: pg_sys::Relation) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the relation is open; `end` releases what the slot holds.
        unsafe { pg_sys::table_slot_create(relation, &mut (*self.state).es_tupleTable) }
    }

    /// Fires the triggers that were put off, then closes what is open.
    unsafe fn end(&self) {
        // SAFETY: called once, by `command`, when nobody uses tables or rows any more.
        unsafe {
            for &(info, operation) in self.opened.borrow().iter() {
                match operation {
                    Operation::Look => {}
                    Operation::Insert => pg_sys::ExecASInsertTriggers(self.state, info, null_mut()),
                    Operation::Update(_) => {
                        pg_sys::ExecASUpdateTriggers(self.state, info, null_mut())
                    }
                    Operation::Delete => pg_sys::ExecASDeleteTriggers(self.state, info, null_mut()),
                }
            }
            pg_sys::AfterTriggerEndQuery(self.state);
            self.partitions.take().end();
            pg_sys::ExecResetTupleTable((*self.state).es_tupleTable, false);
            pg_sys::ExecCloseResultRelations(self.state);
            for (info, _) in self.opened.take() {
                pg_sys::table_close((*info).ri_RelationDesc, pg_sys::NoLock.cast_signed());
            }
        }
    }
}

impl<'c> Table<'c> {
    /// What the BEFORE trigger would do, if it would fire; and opens the indexes that get an entry.
    fn prepare(&mut self, old: Option<&RawRow>, may_move: bool) {
        if may_move {
            self.place(old);
        }
        if let Some(own) = &mut self.own {
            // SAFETY: the slot holds a row of a job.
            own.open_for(&unsafe { RawRow::of(self.written) });
        }
    }

    fn place(&mut self, old: Option<&RawRow>) {
        if self.own.is_none() {
            return;
        }
        // SAFETY: as above.
        unsafe {
            for (column, value) in job_triggers::place(&RawRow::of(self.written), old) {
                *(*self.written).tts_values.add(column - 1) = value;
                *(*self.written).tts_isnull.add(column - 1) = false;
            }
        }
    }

    /// What the AFTER trigger would do. An error now undoes all that the call has noted, as one of the trigger would.
    fn publish(&self, has_old: bool, has_new: bool) -> Result<()> {
        if self.own.is_none() {
            return Ok(());
        }
        // SAFETY: the slots hold the row as it was locked and as it was written.
        let (old, new) = unsafe {
            (
                has_old.then(|| RawRow::of(self.locked)),
                has_new.then(|| RawRow::of(self.written)),
            )
        };
        job_triggers::note(self.table(), old.as_ref(), new.as_ref())
    }

    fn table(&self) -> Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.relation).rd_id }
    }

    /// Makes the row to be written anew, of values for its columns.
    fn write(&mut self, values: impl IntoIterator<Item = (usize, Option<Datum>)>) {
        // SAFETY: empties the slot and fills it with as many NULLs as there are columns; only those are set.
        unsafe {
            pg_sys::ExecStoreAllNullTuple(self.written);
            let width = (*(*self.written).tts_tupleDescriptor).natts;
            let width = usize::try_from(width).unwrap_or(0);
            for (column, value) in values {
                if (1..=width).contains(&column) {
                    *(*self.written).tts_isnull.add(column - 1) = value.is_none();
                    *(*self.written).tts_values.add(column - 1) = value.unwrap_or_else(Datum::null);
                }
            }
        }
    }
}
