//! Whether this process sleeps, or was woken and has not claimed since.

#![allow(unsafe_code, reason = "is called when the process exits")]

use super::access::with_existing;
use super::latches::own_number;
use super::locked::Locked;
use crate::pg::error::Result;
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The table in whose memory this process sleeps or has a wake-up in flight.
    static PLACE: Cell<Option<pg_sys::Oid>> = const { Cell::new(None) };
    static LEAVES_AT_EXIT: Cell<bool> = const { Cell::new(false) };
}

/// The process begins to wait in the memory of these jobs.
pub fn take_place(job_table: pg_sys::Oid) {
    PLACE.set(Some(job_table));
}

/// The process no longer waits, and memory knows that.
pub fn leave_place() {
    PLACE.set(None);
}

/// Ends a wake-up: this process has claimed, or will not.
pub fn end_wait() -> Result<()> {
    if let Some(table) = PLACE.take() {
        with_existing(table, |memory| {
            memory.waiting.stop_waiting(own_number());
            Ok(())
        })?;
    }
    Ok(())
}

pub fn has_place() -> bool {
    PLACE.get().is_some()
}

/// As [`end_wait`] under the lock.
pub fn end_wait_in(memory: &mut Locked) {
    if PLACE.take().is_some() {
        memory.waiting.stop_waiting(own_number());
    }
}

/// As [`end_wait`] where nothing may be raised: at the end of a transaction that was cut short, and at exit.
pub fn end_wait_quietly() {
    let _ = catch_unwind(AssertUnwindSafe(end_wait));
}

/// A process that was woken and exits without claiming passes its wake-up on.
pub fn leave_at_exit() {
    if !LEAVES_AT_EXIT.replace(true) {
        // SAFETY: the callback lives as long as the process, and runs while its entry in the process array
        // and the shared memory are still there.
        unsafe { pg_sys::before_shmem_exit(Some(at_exit), pg_sys::Datum::null()) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_exit(_code: i32, _arg: pg_sys::Datum) {
    end_wait_quietly();
}
