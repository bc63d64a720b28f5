//! What the extension's own processes have in common.

#![allow(unsafe_code, reason = "sets up a process of the server")]

use crate::pg::compat;
use pgrx::pg_sys;
use std::ffi::{CStr, c_char, c_int};

const LIBRARY: &CStr = c"turnstile";

/// A process that runs `function` of this library on a primary.
pub fn describe(name: &CStr, function: &CStr) -> pg_sys::BackgroundWorker {
    let mut worker = pg_sys::BackgroundWorker {
        bgw_flags: (pg_sys::BGWORKER_SHMEM_ACCESS | pg_sys::BGWORKER_BACKEND_DATABASE_CONNECTION)
            .cast_signed(),
        bgw_start_time: pg_sys::BgWorkerStartTime::BgWorkerStart_RecoveryFinished,
        ..Default::default()
    };
    write(&mut worker.bgw_name, name);
    write(&mut worker.bgw_type, name);
    write(&mut worker.bgw_library_name, LIBRARY);
    write(&mut worker.bgw_function_name, function);
    worker
}

fn write(field: &mut [c_char], text: &CStr) {
    for (place, &byte) in field.iter_mut().zip(text.to_bytes_with_nul()) {
        *place = byte.cast_signed();
    }
}

/// Signals are handled as in a backend from here on, and transactions may be long.
///
/// # Safety
/// The process has just begun.
pub unsafe fn begin() {
    // SAFETY: as the caller says.
    unsafe {
        compat::on_signal(pg_sys::SIGTERM, terminate);
        compat::on_signal(pg_sys::SIGHUP, reload);
        pg_sys::BackgroundWorkerUnblockSignals();
    }
    compat::allow_long_transactions();
}

unsafe extern "C-unwind" fn terminate(signal: c_int) {
    // SAFETY: the server's own handler, which sets flags.
    unsafe { pg_sys::die(signal) };
}

unsafe extern "C-unwind" fn reload(signal: c_int) {
    // SAFETY: the server's own handler, which sets a flag.
    unsafe { pg_sys::SignalHandlerForConfigReload(signal) };
}
