//! What the server calls while it lays out its shared memory.

#![allow(unsafe_code, reason = "sets hooks of the server")]

use super::{directory, statistics_file};
use pgrx::{pg_guard, pg_sys};
use std::panic::{AssertUnwindSafe, catch_unwind};

static mut PREVIOUS_REQUEST_HOOK: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP_HOOK: pg_sys::shmem_startup_hook_type = None;

/// Called from `_PG_init` while the server preloads the library.
pub fn install() {
    // SAFETY: the postmaster has one thread.
    unsafe {
        PREVIOUS_REQUEST_HOOK = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request);
        PREVIOUS_STARTUP_HOOK = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(startup);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn request() {
    // SAFETY: as the server called this hook.
    unsafe {
        if let Some(previous) = PREVIOUS_REQUEST_HOOK {
            previous();
        }
    }
    directory::request();
}

#[pg_guard]
unsafe extern "C-unwind" fn startup() {
    // SAFETY: as the server called this hook.
    unsafe {
        if let Some(previous) = PREVIOUS_STARTUP_HOOK {
            previous();
        }
    }
    if let Err(failure) = directory::make() {
        failure.raise();
    }
    let was_shut_down = statistics_file::was_shut_down();
    directory::note_start(!was_shut_down);
    if !was_shut_down {
        statistics_file::discard();
    }
    // SAFETY: the postmaster forgets its callbacks when it starts again after a crash; its children do at once.
    unsafe { pg_sys::on_shmem_exit(Some(at_exit), pg_sys::Datum::null()) };
}

/// After an immediate shutdown, too, what is written then is not read again: see `statistics_file`.
#[pg_guard]
unsafe extern "C-unwind" fn at_exit(code: std::ffi::c_int, _arg: pg_sys::Datum) {
    if code == 0 {
        let _ = catch_unwind(AssertUnwindSafe(statistics_file::write_all));
    }
}
