//! Passes an error that the server raises below a call, such as one of a user's trigger, on as it was raised. The
//! code that catches it on its way through Rust knows only the SQLSTATEs of the server, and neither constraints nor
//! contexts.

#![allow(unsafe_code, reason = "copies and raises errors of the server")]

use pgrx::pg_sys::panic::{CaughtError, pgrx_extern_c_guard};
use pgrx::pg_sys::{self, Datum, ErrorContextCallback, ErrorData};
use std::any::Any;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem::size_of;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{null_mut, without_provenance_mut};

// utils/elog.h, not guarded: the error goes on to the caller.
unsafe extern "C-unwind" {
    fn ThrowErrorData(error: *mut ErrorData);
}

thread_local! {
    /// A copy of the error that was raised last. It lives until the process ends or another error is raised.
    static LAST: Cell<*mut ErrorData> = const { Cell::new(null_mut()) };
    /// How many calls are under way, one in the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs a call, and raises what the server has raised below it, unchanged.
///
/// # Safety
/// Called by the server, with nothing on the stack in between that must be dropped.
pub unsafe fn keeping_errors(call: impl FnOnce() -> Datum) -> Datum {
    let mut raised = null_mut();
    forget();
    // SAFETY: the server's error stack is put back as it was before the call; what is raised here is not dropped.
    unsafe {
        let datum = pgrx_extern_c_guard(|| {
            let outer = pg_sys::error_context_stack;
            let depth = DEPTH.get();
            DEPTH.set(depth + 1);
            listen(outer, depth + 1);
            let outcome = catch_unwind(AssertUnwindSafe(call));
            DEPTH.set(depth);
            pg_sys::error_context_stack = outer;
            outcome.unwrap_or_else(|panic| {
                raised = as_raised(&*panic);
                match raised.is_null() {
                    true => resume_unwind(panic),
                    false => Datum::null(),
                }
            })
        });
        if !raised.is_null() {
            ThrowErrorData(raised);
        }
        datum
    }
}

/// Forgets an error that was raised before this call.
fn forget() {
    let old = LAST.replace(null_mut());
    if !old.is_null() {
        // SAFETY: the copy is whole, and nothing else refers to it.
        unsafe { pg_sys::FreeErrorData(old) };
    }
}

/// Has the server report each error while it raises it.
unsafe fn listen(outer: *mut ErrorContextCallback, depth: usize) {
    // SAFETY: the memory of the call outlives what is raised below it.
    unsafe {
        let callback: *mut ErrorContextCallback =
            pg_sys::palloc(size_of::<ErrorContextCallback>()).cast();
        callback.write(ErrorContextCallback {
            previous: outer,
            callback: Some(keep),
            arg: without_provenance_mut(depth),
        });
        pg_sys::error_context_stack = callback;
    }
}

/// The server calls this while it raises an error or sends a notice. A notice that is sent between the raising of an
/// error and its arrival here does not replace it. Only the innermost call keeps it, without the contexts of those around it: they add
/// theirs, and keep it, when it is raised again for them.
unsafe extern "C-unwind" fn keep(depth: *mut c_void) {
    if depth.addr() != DEPTH.get() {
        return;
    }
    // SAFETY: a report is under way; its copy is made where the server allows it, and only one is kept.
    unsafe {
        // An error would end the server there, and a notice must not take memory.
        if pg_sys::CritSectionCount > 0 {
            return;
        }
        let before = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let error = pg_sys::CopyErrorData();
        pg_sys::MemoryContextSwitchTo(before);
        if (*error).elevel < pg_sys::PGERROR.cast_signed() {
            pg_sys::FreeErrorData(error);
            return;
        }
        forget();
        LAST.set(error);
    }
}

/// The error of the server that a panic stands for.
fn as_raised(panic: &(dyn Any + Send)) -> *mut ErrorData {
    let Some(CaughtError::PostgresError(caught)) = panic.downcast_ref() else {
        return null_mut();
    };
    let last = LAST.get();
    // SAFETY: the copy is whole.
    let is_last = !last.is_null()
        && unsafe {
            !(*last).message.is_null()
                && CStr::from_ptr((*last).message).to_string_lossy() == caught.message()
        };
    match is_last {
        true => last,
        false => null_mut(),
    }
}
