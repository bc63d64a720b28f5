//! What the server says of the time, of this backend and of its transaction.

use crate::call::datum;
use crate::sleep;
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::CString;

/// Microseconds.
pub const SECOND: i64 = 1_000_000;

/// The time, in microseconds of PostgreSQL's epoch.
pub fn now() -> i64 {
    // SAFETY: reads the clock.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// A time after another, by an interval; an error (22008) beyond the range of times.
pub fn later(time: i64, interval: Datum) -> Option<i64> {
    let arguments = [datum(time), Some(interval)];
    // SAFETY: the function takes a time and an interval.
    unsafe { pgrx::direct_function_call(pg_sys::timestamptz_pl_interval, &arguments) }
}

/// A time as the server reads it; errors (22007, 22008, 22023) are raised.
pub fn timestamp(text: &str) -> Option<Datum> {
    read(pg_sys::timestamptz_in, text)
}

/// An interval as the server reads it; errors (22007, 22015) are raised.
pub fn interval(text: &str) -> Option<Datum> {
    read(pg_sys::interval_in, text)
}

type Function = unsafe fn(pg_sys::FunctionCallInfo) -> Datum;

fn read(function: Function, text: &str) -> Option<Datum> {
    let text = CString::new(text).ok()?;
    let arguments = [
        Some(Datum::from(text.as_ptr())),
        datum(Oid::INVALID),
        datum(-1_i32),
    ];
    // SAFETY: functions that read a value take its text, its type and its modifier.
    unsafe { pgrx::direct_function_call_as_datum(function, &arguments) }
}

/// Whether the transaction may stay open after this statement, or for as long as the statement sleeps.
pub fn in_transaction_block() -> bool {
    // SAFETY: reads the backend's transaction state.
    sleep::stays() || unsafe { pg_sys::IsTransactionBlock() }
}

/// Whether the transaction must look as if it ran alone.
pub fn is_serializable() -> bool {
    // SAFETY: reads the backend's transaction state.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE.cast_signed() }
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

/// Whether this is a standby, or a server that comes back.
pub fn is_in_recovery() -> bool {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Whether this session replays what another server did.
pub fn is_replica() -> bool {
    // SAFETY: reads the backend's state.
    unsafe {
        pg_sys::SessionReplicationRole == pg_sys::SESSION_REPLICATION_ROLE_REPLICA.cast_signed()
    }
}

/// Whether pg_dump's output is being restored: it switches both off.
pub fn restores() -> bool {
    // SAFETY: reads the backend's state.
    unsafe { !pg_sys::row_security && !pg_sys::check_function_bodies }
}
