//! What the open transaction has changed, by savepoint level.

pub mod charges; // places that new jobs have taken in backlogs
pub mod earliest; // times by queue
pub mod level; // its changes at one level of savepoints
pub mod parent; // a parent that it keeps from ending
pub mod pending;

use pgrx::pg_sys;

/// Whether the transaction may stay open after this statement, or for as long as the statement sleeps.
#[allow(unsafe_code, reason = "reads the state of the transaction")]
pub fn may_stay_open() -> bool {
    // SAFETY: reads the backend's transaction state.
    pending::stays() || unsafe { pg_sys::IsTransactionBlock() }
}

/// Whether it has locked or changed rows.
#[allow(unsafe_code, reason = "reads the state of the transaction")]
pub fn has_id() -> bool {
    // SAFETY: reads the backend's transaction state.
    u32::from(unsafe { pg_sys::GetTopTransactionIdIfAny() }) != 0
}
