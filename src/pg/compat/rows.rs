//! Rows that are changed without a plan.

#![allow(
    unsafe_code,
    reason = "calls functions of the server whose arguments differ"
)]

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::mem::zeroed;
use std::ptr::null_mut;

/// Gives a command a range table of one entry, with the columns that are changed.
///
/// # Safety
/// The entry and the set must be in the memory of the command.
#[inline]
pub unsafe fn set_range_table(
    state: *mut pg_sys::EState,
    entry: *mut pg_sys::RangeTblEntry,
    changed: *mut pg_sys::Bitmapset,
) {
    // SAFETY: as the caller says.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            (*entry).updatedCols = changed;
            pg_sys::ExecInitRangeTable(state, pg_sys::lappend(null_mut(), entry.cast()));
        }
        #[cfg(not(feature = "pg15"))]
        {
            let mut permissions = null_mut();
            let permission = pg_sys::addRTEPermissionInfo(&mut permissions, entry);
            (*permission).updatedCols = changed;
            pg_sys::ExecInitRangeTable(
                state,
                pg_sys::lappend(null_mut(), entry.cast()),
                permissions,
                #[cfg(feature = "pg18")]
                pg_sys::bms_make_singleton(1),
            );
        }
    }
}

/// Which indexes need an entry for the new version of a row.
#[derive(Clone, Copy)]
pub struct Entries(Kinds);

/// All of them or none.
#[cfg(feature = "pg15")]
type Kinds = bool;
/// All of them, none, or only those of summaries of pages, such as BRIN: the version is in the page of the one before.
#[cfg(not(feature = "pg15"))]
type Kinds = pg_sys::TU_UpdateIndexes::Type;

impl Entries {
    #[cfg(feature = "pg15")]
    const NONE: Kinds = false;
    #[cfg(not(feature = "pg15"))]
    const NONE: Kinds = pg_sys::TU_UpdateIndexes::TU_None;

    #[inline]
    pub fn are_needed(self) -> bool {
        self.0 != Self::NONE
    }

    #[cfg(not(feature = "pg15"))]
    fn are_of_summaries(self) -> bool {
        self.0 == pg_sys::TU_UpdateIndexes::TU_Summarizing
    }
}

/// Makes the row in the slot the next version of one, as its command sees that; `Entries` are those of an update that was made.
/// Where another transaction has the row, or anybody any lock on it, the update waits or gives `TM_BeingModified`.
///
/// # Safety
/// The table must be open and the slot hold a row of it; the place must be that of a row that the command of the state sees.
#[inline]
pub unsafe fn update_row(
    table: pg_sys::Relation,
    mut place: pg_sys::ItemPointerData,
    row: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    waits: bool,
) -> Option<(pg_sys::TM_Result::Type, Entries)> {
    // SAFETY: as the caller says; all that is pointed to outlives the call.
    unsafe {
        let update = (*(*table).rd_tableam).tuple_update?;
        let mut entries = Entries(Entries::NONE);
        let mut failure: pg_sys::TM_FailureData = zeroed();
        let mut lock: pg_sys::LockTupleMode::Type = 0;
        let result = pg_guard_ffi_boundary(|| {
            update(
                table,
                &mut place,
                row,
                (*state).es_output_cid,
                (*state).es_snapshot,
                null_mut(),
                waits,
                &mut failure,
                &mut lock,
                &mut entries.0,
            )
        });
        Some((result, entries))
    }
}

/// Enters a row into the indexes that are open: a new one, or the new version of one.
///
/// # Safety
/// The slot must hold a stored row of the table, whose indexes are open.
#[inline]
pub unsafe fn insert_index_entries(
    info: *mut pg_sys::ResultRelInfo,
    row: *mut pg_sys::TupleTableSlot,
    state: *mut pg_sys::EState,
    update: Option<Entries>,
) {
    // SAFETY: as the caller says.
    unsafe {
        pg_sys::ExecInsertIndexTuples(
            info,
            row,
            state,
            update.is_some(),
            false,
            null_mut(),
            null_mut(),
            #[cfg(not(feature = "pg15"))]
            update.is_some_and(Entries::are_of_summaries),
        );
    }
}
