//! What the server knows of the time, of this backend and of its transaction.

#![allow(
    unsafe_code,
    reason = "calls functions of the server and reads its variables"
)]

use crate::pg::call::datum;
use crate::pg::unguarded;
use pgrx::FromDatum;
use pgrx::datum::Interval;
use pgrx::pg_sys::{self, Datum, Oid};
use std::ffi::CString;

pub use turnstile_scheduler::times::SECOND;

/// A hundred years as the server compares intervals: of twelve months of 30 days.
pub const LONGEST_TIME: i128 = 100 * 360 * 86_400 * SECOND as i128;

/// `-infinity`.
pub const BEFORE_ALL_TIMES: i64 = i64::MIN;

/// The microseconds of a timestamp.
pub fn time_of(timestamp: Option<Datum>) -> Option<i64> {
    // SAFETY: a timestamp is a number, which points to nothing.
    timestamp.and_then(|time| unsafe { i64::from_datum(time, false) })
}

/// The time, in microseconds of PostgreSQL's epoch.
pub fn now() -> i64 {
    unguarded::GetCurrentTimestamp()
}

/// A time after another, by an interval; an error (22008) beyond the range of times.
pub fn later(time: i64, interval: Interval) -> Option<i64> {
    let arguments = [datum(time), datum(interval)];
    // SAFETY: the function takes a time and an interval.
    unsafe { pgrx::direct_function_call(pg_sys::timestamptz_pl_interval, &arguments) }
}

/// A time as the server reads it; errors (22007, 22008, 22023) are raised.
pub fn timestamp(text: &str) -> Option<Datum> {
    read(pg_sys::timestamptz_in, text)
}

/// An interval as the server reads it; errors (22007, 22015) are raised.
pub fn interval(text: &str) -> Option<Interval> {
    // SAFETY: the function gives an interval.
    read(pg_sys::interval_in, text)
        .and_then(|interval| unsafe { Interval::from_datum(interval, false) })
}

type Function = unsafe fn(pg_sys::FunctionCallInfo) -> Datum;

/// Calls the input function of a type with a text.
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

/// Has the next look at the list of backends read it again: the server keeps it for the whole transaction.
pub fn forget_list_of_backends() {
    // SAFETY: drops a copy that the next reader makes again.
    unsafe { pg_sys::pgstat_clear_backend_activity_snapshot() };
}

/// Whether this is a standby, or a server in crash recovery.
pub fn is_in_recovery() -> bool {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Whether this session replays changes of another server.
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
