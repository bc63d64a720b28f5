//! Rows that go to the partition that they belong to.

use super::node;
use crate::error::{Result, internal};
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
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
            }
        }
    }

    /// Puts the row in a slot of the partitioned table where it belongs.
    ///
    /// # Safety
    /// `info` is that of the table.
    pub unsafe fn insert(
        &self,
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
            trust_routing(partition);
            let map = (*partition).ri_RootToPartitionMap;
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

    /// Closes the partitions.
    pub fn end(self) {
        // SAFETY: called once, by the command, when nobody uses them any more.
        unsafe { pg_guard_ffi_boundary(|| ExecCleanupTupleRouting(self.modify, self.partitions)) };
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
