//! Rows that are found by index and changed as the executor does it, with row triggers, constraints and indexes, but
//! without a plan: for the columns of a job, starting a plan costs more than the change. Logical replication applies
//! its changes through the same functions. See docs/decisions/035-hot-paths-without-plans.md.

mod conditions;
mod search;

pub use search::{Search, Where};

use crate::error::{Result, internal};
use crate::seeded::{Seeded, armed};
use crate::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid};
use std::cell::RefCell;
use std::mem::{size_of, zeroed};
use std::ptr::null_mut;

// executor/execPartition.h, which the bindings leave out. Called under a guard, as they raise errors.
unsafe extern "C-unwind" {
    fn ExecSetupPartitionTupleRouting(
        state: *mut pg_sys::EState,
        table: pg_sys::Relation,
    ) -> *mut pg_sys::PartitionTupleRouting;
    fn ExecFindPartition(
        modify: *mut pg_sys::ModifyTableState,
        root: *mut pg_sys::ResultRelInfo,
        routing: *mut pg_sys::PartitionTupleRouting,
        slot: *mut pg_sys::TupleTableSlot,
        state: *mut pg_sys::EState,
    ) -> *mut pg_sys::ResultRelInfo;
    fn ExecCleanupTupleRouting(
        modify: *mut pg_sys::ModifyTableState,
        routing: *mut pg_sys::PartitionTupleRouting,
    );
}

/// What is done to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: it is only read.
    Look,
    Insert,
    Update,
    Delete,
}

/// How a row is locked.
#[derive(Clone, Copy)]
pub enum Lock {
    /// `FOR NO KEY UPDATE SKIP LOCKED`
    ToUpdateUnlessLocked,
    /// As `DELETE` does: waits for who has locked the row.
    ToDelete,
}

/// One command of the transaction: it sees what was committed when it began, and what the transaction did before.
pub struct Command {
    state: *mut pg_sys::EState,
    opened: RefCell<Vec<(*mut pg_sys::ResultRelInfo, Operation)>>,
    routing: RefCell<Option<Routing>>,
}

/// How rows find the partition that they belong to.
#[derive(Clone, Copy)]
struct Routing {
    modify: *mut pg_sys::ModifyTableState,
    partitions: *mut pg_sys::PartitionTupleRouting,
}

/// A table that a command reads or changes.
pub struct Table<'c> {
    command: &'c Command,
    relation: pg_sys::Relation,
    info: *mut pg_sys::ResultRelInfo,
    locked: *mut pg_sys::TupleTableSlot,
    written: *mut pg_sys::TupleTableSlot,
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
            routing: RefCell::default(),
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

impl Command {
    pub fn open(&self, table: Oid, operation: Operation) -> Table<'_> {
        // SAFETY: `end` closes what is opened here; the nodes live in the command's memory.
        unsafe {
            let lock = match operation {
                Operation::Look => pg_sys::AccessShareLock,
                _ => pg_sys::RowExclusiveLock,
            };
            let relation = pg_sys::table_open(table, lock.cast_signed());
            let info = node(pg_sys::NodeTag::T_ResultRelInfo);
            pg_sys::InitResultRelInfo(info, relation, 0, null_mut(), 0);
            let opened = &mut (*self.state).es_opened_result_relations;
            *opened = pg_sys::lappend(*opened, info.cast());
            match operation {
                Operation::Look => {}
                Operation::Insert => pg_sys::ExecBSInsertTriggers(self.state, info),
                Operation::Update => pg_sys::ExecBSUpdateTriggers(self.state, info),
                Operation::Delete => pg_sys::ExecBSDeleteTriggers(self.state, info),
            }
            let is_written = matches!(operation, Operation::Insert | Operation::Update);
            if is_written && !(*relation).rd_tableam.is_null() {
                pg_sys::ExecOpenIndices(info, false);
                conditions::lend_to_indexes(info);
            }
            self.opened.borrow_mut().push((info, operation));
            Table {
                command: self,
                relation,
                info,
                locked: self.slot_of(relation),
                written: self.slot_of(relation),
            }
        }
    }

    fn slot_of(&self, relation: pg_sys::Relation) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the relation is open; `end` releases what the slot holds.
        unsafe { pg_sys::table_slot_create(relation, &mut (*self.state).es_tupleTable) }
    }

    fn routing_of(&self, table: &Table) -> Routing {
        *self.routing.borrow_mut().get_or_insert_with(|| {
            // SAFETY: the state of a plan node without a plan is what the server's own callers pass.
            unsafe {
                let modify: *mut pg_sys::ModifyTableState =
                    node(pg_sys::NodeTag::T_ModifyTableState);
                (*modify).ps.state = self.state;
                (*modify).operation = pg_sys::CmdType::CMD_INSERT;
                (*modify).mt_nrels = 1;
                (*modify).resultRelInfo = table.info;
                (*modify).rootResultRelInfo = table.info;
                Routing {
                    modify,
                    partitions: pg_guard_ffi_boundary(|| {
                        ExecSetupPartitionTupleRouting(self.state, table.relation)
                    }),
                }
            }
        })
    }

    /// Fires the triggers that were put off, then closes what is open.
    unsafe fn end(&self) {
        // SAFETY: called once, by `command`, when nobody uses tables or rows any more.
        unsafe {
            for &(info, operation) in self.opened.borrow().iter() {
                match operation {
                    Operation::Look => {}
                    Operation::Insert => pg_sys::ExecASInsertTriggers(self.state, info, null_mut()),
                    Operation::Update => pg_sys::ExecASUpdateTriggers(self.state, info, null_mut()),
                    Operation::Delete => pg_sys::ExecASDeleteTriggers(self.state, info, null_mut()),
                }
            }
            pg_sys::AfterTriggerEndQuery(self.state);
            if let Some(routing) = self.routing.take() {
                pg_guard_ffi_boundary(|| {
                    ExecCleanupTupleRouting(routing.modify, routing.partitions);
                });
            }
            pg_sys::ExecResetTupleTable((*self.state).es_tupleTable, false);
            pg_sys::ExecCloseResultRelations(self.state);
            for (info, _) in self.opened.take() {
                pg_sys::table_close((*info).ri_RelationDesc, pg_sys::NoLock.cast_signed());
            }
        }
    }
}

impl<'c> Table<'c> {
    /// Locks a row that was found. Who waits for others gets its newest version, which may no longer be what was looked
    /// for, and nothing if it is gone. Who does not wait gets nothing if somebody has it, or has had it since: a lock on
    /// what he has made of it would stay until this transaction ends.
    pub fn lock(
        &mut self,
        mut place: pg_sys::ItemPointerData,
        lock: Lock,
    ) -> Result<Option<RawRow<'_>>> {
        use pg_sys::{LockTupleMode, LockWaitPolicy, TM_Result};
        let (mode, wait) = match lock {
            Lock::ToUpdateUnlessLocked if armed(Seeded::StumbleOverLockedRows) => (
                LockTupleMode::LockTupleNoKeyExclusive,
                LockWaitPolicy::LockWaitError,
            ),
            Lock::ToUpdateUnlessLocked if armed(Seeded::WaitForLockedRows) => (
                LockTupleMode::LockTupleNoKeyExclusive,
                LockWaitPolicy::LockWaitBlock,
            ),
            Lock::ToUpdateUnlessLocked => (
                LockTupleMode::LockTupleNoKeyExclusive,
                LockWaitPolicy::LockWaitSkip,
            ),
            Lock::ToDelete => (
                LockTupleMode::LockTupleExclusive,
                LockWaitPolicy::LockWaitBlock,
            ),
        };
        let flags = match lock {
            Lock::ToUpdateUnlessLocked => 0,
            Lock::ToDelete => pg_sys::TUPLE_LOCK_FLAG_FIND_LAST_VERSION as u8,
        };
        // SAFETY: the table is one with storage; all that is pointed to outlives the call.
        let result = unsafe {
            let Some(tuple_lock) = (*(*self.relation).rd_tableam).tuple_lock else {
                return Err(internal("a table without row locks"));
            };
            let mut failure: pg_sys::TM_FailureData = zeroed();
            pg_guard_ffi_boundary(|| {
                tuple_lock(
                    self.relation,
                    &mut place,
                    (*self.command.state).es_snapshot,
                    self.locked,
                    (*self.command.state).es_output_cid,
                    mode,
                    wait,
                    flags,
                    &mut failure,
                )
            })
        };
        Ok(match result {
            // SAFETY: a row that is locked is in the slot, until the next one is.
            TM_Result::TM_Ok => Some(unsafe { RawRow::of(self.locked) }),
            _ => None,
        })
    }

    /// Adds a row with these values of its columns (from 1); the others are NULL, whatever their defaults.
    pub fn insert(&mut self, values: impl IntoIterator<Item = (usize, Option<Datum>)>) {
        self.write(values);
        // SAFETY: the slot holds the new row.
        unsafe {
            pg_sys::ExecSimpleRelationInsert(self.info, self.command.state, self.written);
        }
    }

    /// As [`Self::insert`] for a partitioned table.
    pub fn insert_into_partition(
        &mut self,
        values: impl IntoIterator<Item = (usize, Option<Datum>)>,
    ) -> Result<()> {
        self.write(values);
        let state = self.command.state;
        let routing = self.command.routing_of(self);
        // SAFETY: the partition stays open until the command ends; a map says where its columns are others.
        unsafe {
            let partition = pg_guard_ffi_boundary(|| {
                ExecFindPartition(
                    routing.modify,
                    self.info,
                    routing.partitions,
                    self.written,
                    state,
                )
            });
            let relation = (*partition).ri_RelationDesc;
            if (*relation).rd_tableam.is_null() {
                return Err(internal("a partition of the history is not a table"));
            }
            conditions::trust_routing(partition);
            let map = (*partition).ri_RootToPartitionMap;
            let slot = match map.is_null() {
                true => self.written,
                false => pg_sys::execute_attr_map_slot(
                    (*map).attrMap,
                    self.written,
                    self.command.slot_of(relation),
                ),
            };
            pg_sys::ExecSimpleRelationInsert(partition, state, slot);
        }
        Ok(())
    }

    /// Changes columns (from 1) of the row that was locked last; gives the new row.
    pub fn update(&mut self, changes: &[(usize, Option<Datum>)]) -> RawRow<'_> {
        // SAFETY: the slot holds the locked row.
        let old = unsafe { RawRow::of(self.locked) }.up_to(usize::MAX);
        self.write(old.all().chain(changes.iter().copied()));
        // SAFETY: the slots hold the row and its new version; nobody else can change it.
        unsafe {
            self.with_recheck(|recheck| {
                pg_sys::ExecSimpleRelationUpdate(
                    self.info,
                    self.command.state,
                    recheck,
                    self.locked,
                    self.written,
                );
            });
            RawRow::of(self.written).up_to(usize::MAX)
        }
    }

    /// Deletes the row that was locked last.
    pub fn delete(&mut self) {
        // SAFETY: as above.
        unsafe {
            self.with_recheck(|recheck| {
                pg_sys::ExecSimpleRelationDelete(
                    self.info,
                    self.command.state,
                    recheck,
                    self.locked,
                );
            });
        }
    }

    /// What triggers would look at a row again with, had somebody changed it meanwhile.
    unsafe fn with_recheck(&self, change: impl FnOnce(*mut pg_sys::EPQState)) {
        // SAFETY: the state is ended before it goes out of scope.
        unsafe {
            let mut recheck: pg_sys::EPQState = zeroed();
            pg_sys::EvalPlanQualInit(&mut recheck, self.command.state, null_mut(), null_mut(), -1);
            change(&mut recheck);
            pg_sys::EvalPlanQualEnd(&mut recheck);
        }
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
