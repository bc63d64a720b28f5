//! Notices DROP EXTENSION, so that backends that sleep for its jobs do not sleep in vain, and DROP DATABASE, so that its
//! memory is given back once it is gone.

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
    /// The database that this transaction drops, unless it is refused: the server asks only later whether it is in use.
    static DATABASE: Cell<pg_sys::Oid> = const { Cell::new(pg_sys::InvalidOid) };
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
        DATABASE.set(object);
    }
    if let Some(previous) = PREVIOUS.get() {
        // SAFETY: with the arguments that the server gave.
        unsafe { previous(access, class, object, part, argument) };
    }
}

/// The transaction has ended. Nobody is connected to a database that it has dropped.
pub fn at_end(is_committed: bool) {
    let database = DATABASE.replace(pg_sys::InvalidOid);
    if is_committed && database != pg_sys::InvalidOid {
        let _ = shmem::release(database);
    }
}
