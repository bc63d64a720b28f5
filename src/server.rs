//! What the server says of the time, of this backend and of its transaction.

use crate::sleep;
use pgrx::pg_sys;

/// Microseconds.
pub const SECOND: i64 = 1_000_000;

/// The time, in microseconds of PostgreSQL's epoch.
pub fn now() -> i64 {
    // SAFETY: reads the clock.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// Whether the transaction may stay open after this statement, or for as long as the statement sleeps.
pub fn in_transaction_block() -> bool {
    // SAFETY: reads the backend's transaction state.
    sleep::stays() || unsafe { pg_sys::IsTransactionBlock() }
}

/// Process id and start time: a process id alone is used again.
pub fn this_backend() -> (i32, i64) {
    // SAFETY: constants of the backend.
    unsafe { (pg_sys::MyProcPid, pg_sys::MyStartTimestamp) }
}

/// Has the next look at the list of backends read it anew: the server keeps it for the whole transaction.
pub fn forget_list_of_backends() {
    // SAFETY: drops a copy that the next reader makes again.
    unsafe { pg_sys::pgstat_clear_backend_activity_snapshot() };
}
