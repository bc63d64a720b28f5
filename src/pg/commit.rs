//! Whether the commit of this transaction waits until it is on disk, and on standbys.

#![allow(unsafe_code, reason = "sets a setting of the server for a moment")]

use pgrx::pg_sys;
use std::cell::Cell;
use std::ffi::c_int;

/// `synchronous_commit = off`, in access/xact.h.
const OFF: c_int = 0;

thread_local! {
    static REPLACED: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// It does not. Called when the transaction is about to commit; [`restore`] must follow, whatever comes of it.
pub fn do_not_wait() {
    // SAFETY: the setting of this process. It is read when the commit has been logged, and by nobody before the transaction's end.
    unsafe {
        if pg_sys::synchronous_commit > OFF {
            REPLACED.set(Some(pg_sys::synchronous_commit));
            pg_sys::synchronous_commit = OFF;
        }
    }
}

/// Called at the end of each transaction.
pub fn restore() {
    if let Some(replaced) = REPLACED.take() {
        // SAFETY: the setting of this process, with a value that it had.
        unsafe { pg_sys::synchronous_commit = replaced };
    }
}
