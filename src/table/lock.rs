//! Rows that are locked before they change.

use super::Table;
use crate::error::{Result, internal};
use crate::seeded::{Seeded, armed};
use crate::tuple::RawRow;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::mem::zeroed;

/// How a row is locked.
#[derive(Clone, Copy)]
pub enum Lock {
    /// `FOR NO KEY UPDATE SKIP LOCKED`
    ToUpdateUnlessLocked,
    /// As `DELETE` does: waits for who has locked the row.
    ToDelete,
}

impl Table<'_> {
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
}
