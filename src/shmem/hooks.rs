//! What the server calls while it lays out its shared memory.

#![allow(unsafe_code, reason = "sets hooks of the server")]

use super::directory;
use pgrx::{pg_guard, pg_sys};

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
}
