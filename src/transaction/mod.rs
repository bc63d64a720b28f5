//! What the open transaction has changed, by savepoint level.

pub mod charges; // places that new jobs have taken in backlogs
pub mod claim; // one that a crash may take back
pub mod earliest; // times by queue
pub mod leases; // runs whose leases are watched
pub mod level; // its changes at one level of savepoints
mod loss; // whether a crash may take it back
pub mod own; // claims of what it has made available itself
pub mod parent; // a parent that it keeps from ending
pub mod pending;

use crate::pg::unguarded;

/// Whether the transaction may stay open after this statement, or for as long as the statement sleeps.
pub fn may_stay_open() -> bool {
    pending::stays() || unguarded::IsTransactionBlock()
}

/// Whether it has locked or changed rows.
pub fn has_id() -> bool {
    u32::from(unguarded::GetTopTransactionIdIfAny()) != 0
}
