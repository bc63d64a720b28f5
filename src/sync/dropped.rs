//! Notices DROP EXTENSION, so that backends that sleep for its jobs do not sleep in vain, and DROP DATABASE, so that its
//! memory is given back.

#![allow(
    unsafe_code,
    reason = "is called back by the server when objects are dropped"
)]

use crate::pg::catalog;
use crate::shmem;
use crate::transaction::pending;
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;
use std::ffi::{c_int, c_void};

thread_local! {
    static PREVIOUS: Cell<pg_sys::object_access_hook_type> = const { Cell::new(None) };
}

/// Called from `_PG_init`, by the postmaster: its children inherit what is set.
pub fn register() {
    // SAFETY: libraries set hooks while they are loaded, one after the other.
    unsafe {
        PREVIOUS.set(pg_sys::object_access_hook);
        pg_sys::object_access_hook = Some(object_accessed);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn object_accessed(
    access: pg_sys::ObjectAccessType::Type,
    class: pg_sys::Oid,
    object: pg_sys::Oid,
    part: c_int,
    argument: *mut c_void,
) {
    if access == pg_sys::ObjectAccessType::OAT_DROP
        && class == pg_sys::RelationRelationId
        && part == 0
        && catalog::job_table().is_ok_and(|table| table == object)
    {
        pending::note(object, |level| level.is_dropped = true);
    }
    if access == pg_sys::ObjectAccessType::OAT_DROP && class == pg_sys::DatabaseRelationId {
        // Nobody is connected to it. If it is not dropped after all, its memory is built anew.
        let _ = shmem::release(object);
    }
    if let Some(previous) = PREVIOUS.get() {
        // SAFETY: with the arguments that the server gave.
        unsafe { previous(access, class, object, part, argument) };
    }
}
