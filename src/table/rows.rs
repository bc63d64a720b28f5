//! Adds, changes and deletes jobs directly.

#![allow(
    unsafe_code,
    reason = "calls the table's access method and the executor"
)]

use super::defaults::Defaults;
use super::indexes::enter;
use super::multi_insert::MultiInsert;
use super::opened::Table;
use super::own_indexes::Entered;
use super::slot::{Slot, clear, set, write};
use crate::pg::compat::{self, Entries};
use crate::pg::error::{Result, changed_by_check, internal};
use crate::pg::relation::Opened;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::settings;
use crate::pg::tuple::RawRow;
use crate::table::{backlog, parents, triggers};
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, LockTupleMode, LockWaitPolicy, TM_FailureData, TM_Result};
use std::mem::zeroed;
use std::ptr::null_mut;
use turnstile_scheduler::LaneSpec;

/// What is done with a row that another transaction has locked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// With the lock that the update needs, and `SKIP LOCKED`: nothing is found, also if another transaction has had the row since.
    Never,
    /// As `DELETE` does: the newest version is found, which may no longer be what was looked for.
    UntilItIsFree,
}

impl Table<'_> {
    /// Adds a job with these values; its other columns get their defaults.
    pub fn insert(
        &mut self,
        values: impl IntoIterator<Item = (usize, Option<Datum>)>,
    ) -> Result<()> {
        let lane = self.write_new(values)?;
        // SAFETY: the slot holds the new row of the table, which is open. It is published while it is still one of values.
        unsafe {
            self.indexes
                .open_for(Entered::of(&RawRow::of(self.written)));
            self.check(self.written);
            self.publish(lane)?;
            pg_sys::simple_table_tuple_insert(self.relation, self.written);
            enter(self.info, self.written, self.command.state, None);
        }
        Ok(())
    }

    /// As [`Self::insert`], but together with other rows: the last of them are written by [`Self::finish`].
    pub fn add(&mut self, values: impl IntoIterator<Item = (usize, Option<Datum>)>) -> Result<()> {
        self.written = self.added().free_slot();
        let lane = self.write_new(values)?;
        self.publish(lane)?;
        // SAFETY: the free slot holds the new row of the table.
        let is_full = unsafe {
            self.check(self.written);
            let entered = Entered::of(&RawRow::of(self.written));
            self.added().take(entered)
        };
        match is_full {
            true => self.finish(),
            false => Ok(()),
        }
    }

    fn added(&mut self) -> &mut MultiInsert<Entered> {
        let (info, state) = (self.info, self.command.state);
        self.added.get_or_insert_with(|| {
            // SAFETY: where rows are changed directly there is nothing else to the table but its indexes.
            unsafe { MultiInsert::of(info, state) }
        })
    }

    /// Writes the rows that were added.
    pub fn finish(&mut self) -> Result<()> {
        if let Some(added) = &mut self.added {
            let indexes = &mut self.indexes;
            added.write(|entered| indexes.open_for(entered))?;
        }
        Ok(())
    }

    fn write_new(
        &mut self,
        values: impl IntoIterator<Item = (usize, Option<Datum>)>,
    ) -> Result<LaneSpec> {
        let defaults = (!self.jobs.defaults.is_empty()).then(|| {
            self.defaults.get_or_insert_with(|| {
                let columns = self.jobs.defaults.iter().map(|&column| (column, column));
                // SAFETY: the command's memory is the current one.
                unsafe { Defaults::of(&Opened::of(self.jobs.table), columns, self.command.state) }
            })
        });
        let defaults = defaults.into_iter().flat_map(|defaults| defaults.values());
        // SAFETY: the slot is one of the table's.
        unsafe { write(self.written, defaults.chain(values)) };
        let lane = self.place();
        // SAFETY: the slot holds the new row.
        let row = unsafe { RawRow::of(self.written) };
        parents::admit_new(self.jobs.table, &row)?;
        backlog::admit(self.jobs.table, &row)?;
        Ok(lane)
    }

    /// Sets a free job running: changes columns (from 1) of a row that was found, passes the run on, and gives its place. Nothing
    /// if another transaction has the row. The lane stays, and the scheduler knows of the run by its reservation.
    pub fn start(
        &mut self,
        row: RawRow,
        changes: &[(usize, Option<Datum>)],
        pass_on: impl FnOnce(&RawRow),
    ) -> Result<Option<pg_sys::ItemPointerData>> {
        if self.is_held(&row) {
            return Ok(None);
        }
        let row = row.up_to(usize::MAX);
        // SAFETY: the slots are of the same columns, and all columns of the row can be read.
        unsafe {
            row.copy_to(self.changed);
            // Columns that the table does not have are of number 0.
            for &(column, value) in changes.iter().filter(|(column, _)| *column > 0) {
                set(self.changed, column, value);
            }
        }
        let Some(entries) = self.replace(row.place())? else {
            return Ok(None);
        };
        // SAFETY: the slot still holds the values, some of which are in the row that was found.
        unsafe {
            let started = RawRow::of(self.changed).up_to(usize::MAX);
            pass_on(&started);
            if entries.are_needed() {
                self.indexes.open_for(Entered::of(&started));
                enter(self.info, self.written, self.command.state, Some(entries));
            }
            Ok(Some((*self.written).tts_tid))
        }
    }

    /// Stores the changed row as the next version of one that was found. Nothing if another transaction has that one.
    fn replace(&mut self, found: pg_sys::ItemPointerData) -> Result<Option<Entries>> {
        if !self.locks_first() {
            match self.update(found, Wait::Never)? {
                (TM_Result::TM_Ok, entries) => return Ok(Some(entries)),
                (TM_Result::TM_BeingModified, _) if !armed(Seeded::PassOverWeakLocks) => {}
                _ => return Ok(None),
            }
        }
        // Whatever locks there are may be in no claim's way, as FOR KEY SHARE is. A call that does not wait for others locks the
        // version that was found, or none.
        let Some(place) = self.lock(found, Wait::Never)? else {
            return Ok(None);
        };
        // While its page is held, it cannot be pruned for the next row.
        self.clear_locked();
        // SAFETY: the slot holds the changed row.
        unsafe { self.check(self.changed) };
        match self.update(place, Wait::UntilItIsFree)? {
            (TM_Result::TM_Ok, entries) => Ok(Some(entries)),
            (TM_Result::TM_SelfModified, _) => Err(changed_by_check()),
            _ => Err(internal("a job that was locked could not be changed")),
        }
    }

    /// What a constraint says of a row that another transaction has must not be heard. A server with assertions has no updates that
    /// do not wait.
    fn locks_first(&self) -> bool {
        // SAFETY: the slot holds the changed row.
        let is_checked = unsafe { self.jobs.constraints.concern(self.changed) };
        settings::has_assertions() || is_checked && !armed(Seeded::ClaimDespiteChecks)
    }

    fn update(
        &self,
        place: pg_sys::ItemPointerData,
        wait: Wait,
    ) -> Result<(TM_Result::Type, Entries)> {
        let waits = wait == Wait::UntilItIsFree;
        // SAFETY: the table is open, and both slots are of its columns.
        let updated = unsafe {
            RawRow::of(self.changed)
                .up_to(usize::MAX)
                .copy_to(self.written);
            compat::update_row(
                self.relation,
                place,
                self.written,
                self.command.state,
                waits,
            )
        };
        updated.ok_or_else(|| internal("a table without updates"))
    }

    /// # Safety
    /// The slot holds a row of values.
    unsafe fn check(&self, row: Slot) {
        let constraints = &self.jobs.constraints;
        // SAFETY: as the caller says; the table is open.
        unsafe { constraints.check(self.info, row, self.command.state) }
    }

    /// Deletes a job that was found if, once no other transaction has it, it is still what `is_wanted` says, and
    /// passes it on as it was. Nothing otherwise.
    pub fn delete<R>(
        &mut self,
        row: RawRow,
        is_wanted: impl Fn(&RawRow) -> bool,
        pass_on: impl FnOnce(&RawRow) -> Result<R>,
    ) -> Result<Option<R>> {
        match self.delete_as_found(row.place())? {
            TM_Result::TM_Ok => {
                triggers::note(self.jobs.table, Some(&row), None)?;
                return pass_on(&row.up_to(usize::MAX)).map(Some);
            }
            TM_Result::TM_Updated => {}
            _ => return Ok(None),
        }
        let Some(place) = self.lock(row.place(), Wait::UntilItIsFree)? else {
            return Ok(None);
        };
        // SAFETY: a row that was locked is in the slot.
        let job = unsafe { RawRow::of(self.slot_to_lock()) };
        if !is_wanted(&job) {
            return Ok(None);
        }
        match self.delete_as_found(place)? {
            TM_Result::TM_Ok => {}
            _ => return Err(internal("a job that was locked could not be deleted")),
        }
        triggers::note(self.jobs.table, Some(&job), None)?;
        pass_on(&job.up_to(usize::MAX)).map(Some)
    }

    /// Waits for the transaction that has the row, but does not follow the row to a newer version.
    fn delete_as_found(&self, mut place: pg_sys::ItemPointerData) -> Result<TM_Result::Type> {
        // SAFETY: the table is open; all that is pointed to outlives the call.
        unsafe {
            let Some(delete) = (*(*self.relation).rd_tableam).tuple_delete else {
                return Err(internal("a table without deletions"));
            };
            let state = self.command.state;
            let mut failure: TM_FailureData = zeroed();
            Ok(pg_guard_ffi_boundary(|| {
                delete(
                    self.relation,
                    &mut place,
                    (*state).es_output_cid,
                    (*state).es_snapshot,
                    null_mut(),
                    true,
                    &mut failure,
                    false,
                )
            }))
        }
    }

    /// Locks a row that was found, and gives its place.
    fn lock(
        &mut self,
        mut place: pg_sys::ItemPointerData,
        wait: Wait,
    ) -> Result<Option<pg_sys::ItemPointerData>> {
        let (mode, policy, flags) = match wait {
            Wait::Never => (
                // SAFETY: the table is open, with the columns that are changed.
                unsafe { pg_sys::ExecUpdateLockMode(self.command.state, self.info) },
                if armed(Seeded::StumbleOverLockedRows) {
                    LockWaitPolicy::LockWaitError
                } else if armed(Seeded::WaitForLockedRows) {
                    LockWaitPolicy::LockWaitBlock
                } else {
                    LockWaitPolicy::LockWaitSkip
                },
                0,
            ),
            Wait::UntilItIsFree => (
                LockTupleMode::LockTupleExclusive,
                LockWaitPolicy::LockWaitBlock,
                pg_sys::TUPLE_LOCK_FLAG_FIND_LAST_VERSION as u8,
            ),
        };
        // SAFETY: the table is one with storage; all that is pointed to outlives the call.
        unsafe {
            let Some(lock) = (*(*self.relation).rd_tableam).tuple_lock else {
                return Err(internal("a table without row locks"));
            };
            let state = self.command.state;
            let locked = self.slot_to_lock();
            let mut failure: TM_FailureData = zeroed();
            let result = pg_guard_ffi_boundary(|| {
                lock(
                    self.relation,
                    &mut place,
                    (*state).es_snapshot,
                    locked,
                    (*state).es_output_cid,
                    mode,
                    policy,
                    flags,
                    &mut failure,
                )
            });
            Ok((result == TM_Result::TM_Ok).then(|| (*locked).tts_tid))
        }
    }

    /// Most commands that delete lock nothing before.
    fn slot_to_lock(&mut self) -> Slot {
        // SAFETY: the relation is open until the command ends.
        let made = || unsafe { self.command.slot_of(self.relation) };
        *self.locked.get_or_insert_with(made)
    }

    fn clear_locked(&self) {
        if let Some(slot) = self.locked {
            // SAFETY: the slot is the command's, and what it holds is not read any more.
            unsafe { clear(slot) };
        }
    }

    /// Whether another transaction that is still open has changed the row, or locked it for changes: that takes less to find out than
    /// to try. One that was open earlier in this command counts: a later command finds what its abort gives back.
    fn is_held(&mut self, row: &RawRow) -> bool {
        if row.was_free()
            || armed(Seeded::StumbleOverLockedRows)
            || armed(Seeded::WaitForLockedRows)
        {
            return false;
        }
        let Some(holder) = row.holder() else {
            return false;
        };
        // SAFETY: looks at the server's list of transactions.
        let is_open = self.holder == Some(holder)
            || unsafe {
                pg_sys::TransactionIdIsInProgress(holder)
                    && !pg_sys::TransactionIdIsCurrentTransactionId(holder)
            };
        if is_open {
            self.holder = Some(holder);
        }
        is_open
    }
}
