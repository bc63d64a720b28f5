//! Calls of the executor that belong together, under one guard against errors: one for each of them, as the bindings have it,
//! takes longer than some of them do.

#![allow(unsafe_code, reason = "calls the executor")]

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{
    self, Bitmapset, CommandId, EState, LOCKMODE, List, Node, NodeTag, Oid, Relation,
    ResultRelInfo, Snapshot,
};
use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::ptr::null_mut;

// SAFETY: as the server's headers declare them.
unsafe extern "C-unwind" {
    fn CommandCounterIncrement();
    fn CreateExecutorState() -> *mut EState;
    fn ExecCloseResultRelations(state: *mut EState);
    fn ExecResetTupleTable(slots: *mut List, frees: bool);
    fn FreeExecutorState(state: *mut EState);
    fn GetActiveSnapshot() -> Snapshot;
    fn GetCurrentCommandId(is_used: bool) -> CommandId;
    fn GetLatestSnapshot() -> Snapshot;
    fn GetTransactionSnapshot() -> Snapshot;
    fn PopActiveSnapshot();
    fn PushActiveSnapshot(snapshot: Snapshot);
    fn bms_add_member(set: *mut Bitmapset, member: c_int) -> *mut Bitmapset;
    fn lappend(list: *mut List, element: *mut c_void) -> *mut List;
    fn palloc0(size: usize) -> *mut c_void;
    fn table_close(table: Relation, lock: LOCKMODE);
    fn table_open(table: Oid, lock: LOCKMODE) -> Relation;
}

/// Begins a command with a snapshot of its own: the newest, or that of the transaction.
///
/// # Safety
/// [`end`] must end it, unless an error ends its transaction or savepoint.
pub unsafe fn begin(is_newest: bool) -> *mut EState {
    // SAFETY: in the order in which the executor does it.
    unsafe {
        pg_guard_ffi_boundary(|| {
            CommandCounterIncrement();
            PushActiveSnapshot(match is_newest {
                true => GetLatestSnapshot(),
                false => GetTransactionSnapshot(),
            });
            let state = CreateExecutorState();
            (*state).es_snapshot = GetActiveSnapshot();
            (*state).es_output_cid = GetCurrentCommandId(true);
            state
        })
    }
}

/// Releases what the slots of a command hold, closes its indexes and the tables that it has opened.
///
/// # Safety
/// None of it may be used any more.
pub unsafe fn close(state: *mut EState, opened: &[*mut ResultRelInfo]) {
    // SAFETY: as the caller says.
    unsafe {
        pg_guard_ffi_boundary(|| {
            ExecResetTupleTable((*state).es_tupleTable, false);
            ExecCloseResultRelations(state);
            for &info in opened {
                table_close((*info).ri_RelationDesc, pg_sys::NoLock.cast_signed());
            }
        });
    }
}

/// Ends the command that was begun last; what it has allocated is gone.
///
/// # Safety
/// Its memory must not be the current one.
pub unsafe fn end(state: *mut EState) {
    // SAFETY: as the caller says.
    unsafe {
        pg_guard_ffi_boundary(|| {
            FreeExecutorState(state);
            PopActiveSnapshot();
            CommandCounterIncrement();
        });
    }
}

/// Opens a table that [`close`] closes.
///
/// # Safety
/// The command's memory is the current one.
pub unsafe fn open_table(state: *mut EState, table: Oid, lock: u32) -> *mut ResultRelInfo {
    // SAFETY: as the caller says; the node is all zero but for what it must have.
    unsafe {
        pg_guard_ffi_boundary(|| {
            let relation = table_open(table, lock.cast_signed());
            let info: *mut ResultRelInfo = palloc0(size_of::<ResultRelInfo>()).cast();
            info.cast::<Node>().write(Node {
                type_: NodeTag::T_ResultRelInfo,
            });
            (*info).ri_RelationDesc = relation;
            let opened = &mut (*state).es_opened_result_relations;
            *opened = lappend(*opened, info.cast());
            info
        })
    }
}

/// The set of these columns (from 1), as the executor counts them.
pub fn set_of_columns(columns: &[usize]) -> *mut Bitmapset {
    let number = |column: usize| {
        i32::try_from(column).unwrap_or(0) - pg_sys::FirstLowInvalidHeapAttributeNumber
    };
    // SAFETY: makes a set in the current memory.
    unsafe {
        pg_guard_ffi_boundary(|| {
            let add = |set, &column: &usize| bms_add_member(set, number(column));
            columns.iter().fold(null_mut(), add)
        })
    }
}
