//! Whether the system has memory left. Rust brings the server down where it is refused some, so the server, which raises an error, is asked first.

#![allow(unsafe_code, reason = "asks the server for memory")]

use crate::pg::error::{Result, no_room};
use pgrx::pg_sys;

/// How many changes of jobs are made until it is asked again.
const ASK_EVERY: usize = 4_096;
/// One call makes fewer.
const AT_ONCE: usize = 16;
/// What one takes at most: a lane, and a lease.
const EACH: usize = 1_024;
/// What tables that grow to twice their size take for each change so far.
const GROWTH: usize = 64;

/// Whether there is room for more changes, after so many in one transaction.
pub fn for_changes(changes: usize) -> Result<()> {
    if changes < ASK_EVERY || changes % ASK_EVERY >= AT_ONCE {
        return Ok(());
    }
    let bytes = (ASK_EVERY * EACH).saturating_add(changes.saturating_mul(GROWTH));
    match is_there(bytes) {
        true => Ok(()),
        false => Err(no_room(
            "what the transaction has changed",
            format!(
                "After {changes} changes of jobs, the server has refused {bytes} bytes for more."
            ),
        )),
    }
}

fn is_there(bytes: usize) -> bool {
    let flags = pg_sys::MCXT_ALLOC_HUGE | pg_sys::MCXT_ALLOC_NO_OOM;
    // SAFETY: a piece of memory of the current context, which is given back at once.
    unsafe {
        let piece = pg_sys::palloc_extended(bytes, flags.cast_signed());
        if !piece.is_null() {
            pg_sys::pfree(piece);
        }
        !piece.is_null()
    }
}
