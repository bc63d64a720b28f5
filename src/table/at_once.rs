//! Changes of a row that was found, without a lock before: if nobody has it that spares a visit to the row and a record
//! of the log.

use super::{Table, check, enter};
use crate::error::{Result, internal};
use crate::job_triggers;
use crate::seeded::{Seeded, armed};
use crate::tuple::RawRow;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, CmdType, Datum, TM_Result};
use std::mem::zeroed;
use std::ptr::null_mut;

/// What has become of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    Made,
    /// Another has changed or deleted the row, or is about to.
    Late,
    /// The row has to be locked first.
    Open,
}

impl Table<'_> {
    /// As [`Table::lock`] to update unless locked, and [`Table::update`]. It takes more to find out that somebody has the row
    /// than a lock does, so it is not tried where that is likely.
    pub fn update_at_once(
        &mut self,
        row: &RawRow,
        changes: &[(usize, Option<Datum>)],
    ) -> Result<Attempt> {
        let chooses_to_lock = armed(Seeded::StumbleOverLockedRows)
            || armed(Seeded::WaitForLockedRows)
            || self.own.is_none();
        if chooses_to_lock {
            return Ok(Attempt::Open);
        }
        if !row.was_free() {
            return Ok(match self.is_held(row) {
                true => Attempt::Late,
                false => Attempt::Open,
            });
        }
        self.write(row.all().chain(changes.iter().copied()));
        self.prepare(Some(row), job_triggers::may_move(changes));
        let mut needs_entries = false;
        // SAFETY: the row was found in the table, which is open; all that is pointed to outlives the call.
        let result = unsafe {
            pg_sys::CheckCmdReplicaIdentity(self.relation, CmdType::CMD_UPDATE);
            let Some(update) = (*(*self.relation).rd_tableam).tuple_update else {
                return Err(internal("a table without updates"));
            };
            check(self.info, self.written, self.command.state);
            let state = self.command.state;
            let mut failure: pg_sys::TM_FailureData = zeroed();
            let mut mode = pg_sys::LockTupleMode::LockTupleNoKeyExclusive;
            pg_guard_ffi_boundary(|| {
                update(
                    self.relation,
                    &mut row.place(),
                    self.written,
                    (*state).es_output_cid,
                    (*state).es_snapshot,
                    null_mut(),
                    false,
                    &mut failure,
                    &mut mode,
                    &mut needs_entries,
                )
            })
        };
        if needs_entries {
            // SAFETY: the slot holds the new version, and knows where that is.
            unsafe { enter(self.info, self.written, self.command.state, true) };
        }
        self.end_attempt(result, row, true)
    }

    /// As [`Table::lock`] to delete, and [`Table::delete`].
    pub fn delete_at_once(&mut self, row: &RawRow) -> Result<Attempt> {
        if self.own.is_none() {
            return Ok(Attempt::Open);
        }
        // SAFETY: as above.
        let result = unsafe {
            pg_sys::CheckCmdReplicaIdentity(self.relation, CmdType::CMD_DELETE);
            let Some(delete) = (*(*self.relation).rd_tableam).tuple_delete else {
                return Err(internal("a table without deletions"));
            };
            let state = self.command.state;
            let mut failure: pg_sys::TM_FailureData = zeroed();
            pg_guard_ffi_boundary(|| {
                delete(
                    self.relation,
                    &mut row.place(),
                    (*state).es_output_cid,
                    (*state).es_snapshot,
                    null_mut(),
                    true,
                    &mut failure,
                    false,
                )
            })
        };
        self.end_attempt(result, row, false)
    }

    /// Whether a transaction that is still open has changed the row. One that was open earlier in this command counts: what
    /// its abort gives back is found by a later one.
    fn is_held(&mut self, row: &RawRow) -> bool {
        let Some(changer) = row.changer() else {
            return false;
        };
        // SAFETY: looks at the server's list of transactions.
        let is_open =
            self.holder == Some(changer) || unsafe { pg_sys::TransactionIdIsInProgress(changer) };
        if is_open {
            self.holder = Some(changer);
        }
        is_open
    }

    fn end_attempt(&self, result: TM_Result::Type, old: &RawRow, has_new: bool) -> Result<Attempt> {
        Ok(match result {
            TM_Result::TM_Ok => {
                // SAFETY: the slot holds the new version.
                let new = has_new.then(|| unsafe { RawRow::of(self.written) });
                job_triggers::note(self.table(), Some(old), new.as_ref())?;
                Attempt::Made
            }
            // An update does not wait, a deletion has waited.
            TM_Result::TM_BeingModified => Attempt::Open,
            TM_Result::TM_Updated if !has_new => Attempt::Open,
            _ => Attempt::Late,
        })
    }

    /// The row that was written last.
    pub fn written(&self) -> RawRow<'_> {
        // SAFETY: the slot holds it.
        unsafe { RawRow::of(self.written) }.up_to(usize::MAX)
    }
}
