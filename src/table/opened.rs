//! The jobs, open for one command.

#![allow(unsafe_code, reason = "calls the executor")]

use super::command::Command;
use super::defaults::Defaults;
use super::indexes::Indexes;
use super::multi_insert::MultiInsert;
use super::own_indexes::Entered;
use super::slot::{Slot, set};
use super::surroundings::Jobs;
use super::triggers;
use crate::job::tables;
use crate::pg::error::Result;
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::{self, CmdType};
use std::ptr::null_mut;
use std::rc::Rc;
use turnstile_scheduler::LaneSpec;

/// What is done to the jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Nothing: they are only read.
    Look,
    Insert,
    /// An update of these columns (from 1) and no others.
    Update(&'static [usize]),
    Delete,
}

/// The jobs, as a command reads or changes them.
pub struct Table<'c> {
    pub(super) command: &'c Command,
    pub(super) jobs: Rc<Jobs>,
    pub(super) operation: Operation,
    pub(super) relation: pg_sys::Relation,
    pub(super) info: *mut pg_sys::ResultRelInfo,
    /// Made when a row is locked first.
    pub(super) locked: Option<Slot>,
    /// Null where nothing is written.
    pub(super) written: Slot,
    /// The values of the next version of a row; null where none is made.
    pub(super) changed: Slot,
    pub(super) indexes: Indexes,
    pub(super) defaults: Option<Defaults>,
    /// Rows that were added and not written yet.
    pub(super) added: Option<MultiInsert<Entered>>,
    /// The transaction that was last found to hold a row.
    pub(super) holder: Option<pg_sys::TransactionId>,
}

impl Command {
    pub fn open(&self, jobs: &Rc<Jobs>, operation: Operation) -> Table<'_> {
        let (relation, info) = self.open_relation(jobs.table, pg_sys::NoLock);
        // SAFETY: the relation is open until the command ends, and the nodes live in its memory.
        let (indexes, written, changed) = unsafe {
            tables::distrust_own(relation);
            let (written, changed) = match operation {
                Operation::Look | Operation::Delete => (null_mut(), null_mut()),
                Operation::Insert => (self.slot_of(relation), null_mut()),
                Operation::Update(_) => (self.slot_of(relation), self.slot_of_values(relation)),
            };
            (Indexes::of(jobs.clone(), info), written, changed)
        };
        // SAFETY: the relation is open until the command ends. What is published must be told apart by a key.
        unsafe {
            match operation {
                Operation::Look | Operation::Insert => {}
                Operation::Update(columns) => {
                    self.name_changed(info, columns);
                    pg_sys::CheckCmdReplicaIdentity(relation, CmdType::CMD_UPDATE);
                }
                Operation::Delete => {
                    pg_sys::CheckCmdReplicaIdentity(relation, CmdType::CMD_DELETE);
                }
            }
        }
        Table {
            command: self,
            jobs: jobs.clone(),
            operation,
            relation,
            info,
            locked: None,
            written,
            changed,
            indexes,
            defaults: None,
            added: None,
            holder: None,
        }
    }
}

impl Table<'_> {
    /// Puts the row that is to be written into its lane, as the BEFORE trigger would.
    pub(super) fn place(&mut self) -> LaneSpec {
        // SAFETY: the slot holds a row of a job.
        unsafe {
            let row = RawRow::of(self.written);
            let (lane, changes) = triggers::place(&row, None);
            for (column, value) in changes {
                set(self.written, column, value);
            }
            lane
        }
    }

    /// Publishes the row that is to be written, as the AFTER trigger would. An error now undoes all that the call has noted, as an
    /// error of the trigger would.
    pub(super) fn publish(&self, lane: LaneSpec) -> Result<()> {
        // SAFETY: the slot holds the row.
        let row = unsafe { RawRow::of(self.written) };
        triggers::note_added(self.jobs.table, &row, lane)
    }
}
