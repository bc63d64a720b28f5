//! Rows that are added, or changed after they were locked, one by one. A trigger of a user may cancel that.

use super::Table;
use crate::error::{Result, cancelled_by_trigger};
use crate::job_triggers;
use crate::tuple::RawRow;
use pgrx::pg_sys::{self, CmdType, Datum};
use std::mem::zeroed;
use std::ptr::null_mut;

impl Table<'_> {
    /// Adds a row with these values of its columns (from 1); the others are NULL, whatever their defaults.
    pub fn insert(
        &mut self,
        values: impl IntoIterator<Item = (usize, Option<Datum>)>,
    ) -> Result<()> {
        self.write(values);
        self.prepare(None, true);
        // SAFETY: the slot holds the new row.
        unsafe {
            pg_sys::ExecSimpleRelationInsert(self.info, self.command.state, self.written);
        }
        if !self.is_stored() {
            return Err(cancelled_by_trigger("insertion"));
        }
        self.publish(false, true)
    }

    /// Changes columns (from 1) of the row that was locked last; false if a trigger has cancelled that.
    pub fn update(&mut self, changes: &[(usize, Option<Datum>)]) -> Result<bool> {
        // SAFETY: the slot holds the locked row.
        let old = unsafe { RawRow::of(self.locked) }.up_to(usize::MAX);
        self.write(old.all().chain(changes.iter().copied()));
        self.prepare(Some(&old), job_triggers::may_move(changes));
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
        }
        if !self.is_stored() {
            return Ok(false);
        }
        self.publish(true, true)?;
        Ok(true)
    }

    /// Deletes the row that was locked last.
    pub fn delete(&mut self) -> Result<()> {
        // SAFETY: as above. The server's function for all of this does not tell whether the row was deleted.
        unsafe {
            let (state, info) = (self.command.state, self.info);
            let place = &raw mut (*self.locked).tts_tid;
            pg_sys::CheckCmdReplicaIdentity(self.relation, CmdType::CMD_DELETE);
            let triggers = (*info).ri_TrigDesc;
            let is_cancelled = !triggers.is_null()
                && (*triggers).trig_delete_before_row
                && !self.with_recheck(|recheck| {
                    pg_sys::ExecBRDeleteTriggers(
                        state,
                        recheck,
                        info,
                        place,
                        null_mut(),
                        null_mut(),
                    )
                });
            if is_cancelled {
                return Err(cancelled_by_trigger("deletion"));
            }
            pg_sys::simple_table_tuple_delete(self.relation, place, (*state).es_snapshot);
            pg_sys::ExecARDeleteTriggers(state, info, place, null_mut(), null_mut(), false);
        }
        self.publish(true, false)
    }

    /// Whether the row that was written last has a place in the table.
    fn is_stored(&self) -> bool {
        // SAFETY: the slot has no place before that of the row is known.
        unsafe { pgrx::itemptr::item_pointer_is_valid(&raw const (*self.written).tts_tid) }
    }

    /// What triggers would look at a row again with, had somebody changed it meanwhile.
    unsafe fn with_recheck<R>(&self, change: impl FnOnce(*mut pg_sys::EPQState) -> R) -> R {
        // SAFETY: the state is ended before it goes out of scope.
        unsafe {
            let mut recheck: pg_sys::EPQState = zeroed();
            pg_sys::EvalPlanQualInit(&mut recheck, self.command.state, null_mut(), null_mut(), -1);
            let done = change(&mut recheck);
            pg_sys::EvalPlanQualEnd(&mut recheck);
            done
        }
    }
}
