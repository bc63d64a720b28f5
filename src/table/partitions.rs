//! Rows that go to the partition that they belong to.

use super::together::Together;
use super::{Table, node};
use crate::error::{Result, internal};
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum};
use std::cell::Cell;
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

/// Lives as long as the connection.
type Compiled = *mut pg_sys::ExprState;

thread_local! {
    static TRUE: Cell<Option<Compiled>> = const { Cell::new(None) };
}

/// How the rows of one command find their partitions.
pub struct Routing {
    state: *mut pg_sys::EState,
    modify: *mut pg_sys::ModifyTableState,
    partitions: *mut pg_sys::PartitionTupleRouting,
    /// Rows of the partition that was found last.
    together: Option<Together>,
}

impl Table<'_> {
    /// As [`Self::add`] for a partitioned table; the last rows are written by [`Self::finish_partitions`].
    pub fn add_to_partition(
        &mut self,
        values: impl IntoIterator<Item = (usize, Option<Datum>)>,
    ) -> Result<()> {
        self.write(values);
        let state = self.command.state;
        let mut routing = self.command.routing.borrow_mut();
        // SAFETY: the routing ends with the command, and the slot holds the new row.
        unsafe {
            let routing =
                routing.get_or_insert_with(|| Routing::of(state, self.info, self.relation));
            routing.add(self.info, self.written)
        }
    }

    /// Writes the rows that were added.
    pub fn finish_partitions(&mut self) -> Result<()> {
        match self.command.routing.borrow_mut().as_mut() {
            Some(routing) => routing.write(),
            None => Ok(()),
        }
    }
}

impl Routing {
    /// # Safety
    /// All are those of one command, which ends the routing before it ends itself.
    pub unsafe fn of(
        state: *mut pg_sys::EState,
        info: *mut pg_sys::ResultRelInfo,
        table: pg_sys::Relation,
    ) -> Self {
        // SAFETY: the state of a plan node without a plan is what the server's own callers pass.
        unsafe {
            let modify: *mut pg_sys::ModifyTableState = node(pg_sys::NodeTag::T_ModifyTableState);
            (*modify).ps.state = state;
            (*modify).operation = pg_sys::CmdType::CMD_INSERT;
            (*modify).mt_nrels = 1;
            (*modify).resultRelInfo = info;
            (*modify).rootResultRelInfo = info;
            Self {
                state,
                modify,
                partitions: pg_guard_ffi_boundary(|| ExecSetupPartitionTupleRouting(state, table)),
                together: None,
            }
        }
    }

    /// Puts the row in a slot of the partitioned table where it belongs.
    ///
    /// # Safety
    /// `info` is that of the table.
    unsafe fn add(
        &mut self,
        info: *mut pg_sys::ResultRelInfo,
        row: *mut pg_sys::TupleTableSlot,
    ) -> Result<()> {
        // SAFETY: the partition stays open until the command ends; a map says where its columns are others.
        unsafe {
            let partition = pg_guard_ffi_boundary(|| {
                ExecFindPartition(self.modify, info, self.partitions, row, self.state)
            });
            let relation = (*partition).ri_RelationDesc;
            if (*relation).rd_tableam.is_null() {
                return Err(internal("a partition of the history is not a table"));
            }
            let map = (*partition).ri_RootToPartitionMap;
            if map.is_null() && is_plain(partition) {
                return self.take(partition, row);
            }
            self.write()?;
            trust_routing(partition);
            let row = match map.is_null() {
                true => row,
                false => pg_sys::execute_attr_map_slot(
                    (*map).attrMap,
                    row,
                    pg_sys::table_slot_create(relation, &mut (*self.state).es_tupleTable),
                ),
            };
            pg_sys::ExecSimpleRelationInsert(partition, self.state, row);
        }
        Ok(())
    }

    unsafe fn take(
        &mut self,
        partition: *mut pg_sys::ResultRelInfo,
        row: *mut pg_sys::TupleTableSlot,
    ) -> Result<()> {
        if !self
            .together
            .as_ref()
            .is_some_and(|rows| rows.is_of(partition))
        {
            self.write()?;
            // SAFETY: the partition stays open until the command ends, and is plain.
            self.together = Some(unsafe { Together::of(partition, self.state) });
        }
        let is_full = match &mut self.together {
            Some(together) => together.take(row)?,
            None => false,
        };
        match is_full {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn write(&mut self) -> Result<()> {
        match &mut self.together {
            Some(together) => together.write(|_| {}),
            None => Ok(()),
        }
    }

    /// Closes the partitions.
    pub fn end(self) {
        // SAFETY: called once, by the command, when nobody uses them any more.
        unsafe { pg_guard_ffi_boundary(|| ExecCleanupTupleRouting(self.modify, self.partitions)) };
    }
}

/// Whether nothing happens to the rows of a partition but that they are stored.
unsafe fn is_plain(partition: *mut pg_sys::ResultRelInfo) -> bool {
    // SAFETY: the partition is open.
    unsafe {
        let constraints = (*(*(*partition).ri_RelationDesc).rd_att).constr;
        (*partition).ri_TrigDesc.is_null()
            && (constraints.is_null() || !(*constraints).has_generated_stored)
    }
}

/// Spares a partition the check of rows that were routed to it: the executor does not check them either, unless a
/// trigger may have changed them meanwhile.
unsafe fn trust_routing(partition: *mut pg_sys::ResultRelInfo) {
    // SAFETY: the triggers are those of the open partition.
    unsafe {
        let triggers = (*partition).ri_TrigDesc;
        if triggers.is_null() || !(*triggers).trig_insert_before_row {
            (*partition).ri_PartitionCheckExpr = always();
        }
    }
}

/// A condition that holds, compiled once a connection.
fn always() -> Compiled {
    // SAFETY: a constant needs nothing that could go away; its memory is handed to the connection once all is in it.
    let always = TRUE.get().unwrap_or_else(|| unsafe {
        let memory = pg_sys::AllocSetContextCreateExtended(
            pg_sys::CurrentMemoryContext,
            c"turnstile condition".as_ptr(),
            0,
            1024,
            8192,
        );
        let before = pg_sys::MemoryContextSwitchTo(memory);
        let always = pg_sys::ExecInitExpr(pg_sys::makeBoolConst(true, false).cast(), null_mut());
        pg_sys::MemoryContextSwitchTo(before);
        pg_sys::MemoryContextSetParent(memory, pg_sys::TopMemoryContext);
        always
    });
    TRUE.set(Some(always));
    always
}
