//! What backends have read that serves others: how they find it, and how they tell.

use super::access::with_existing;
use super::directory::Entry;
use super::read::Read;
use crate::pg::catalog;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicU64, Ordering};

/// What others have read of routes and settings of queues, if they have.
pub fn recall<R>(job_table: pg_sys::Oid, find: impl FnOnce(&Read) -> R) -> Option<R> {
    let found = with_existing(job_table, |memory| Ok(find(&memory.state.read)));
    found.ok().flatten()
}

/// Has others find what was read of routes or settings of queues, unless they have changed since they had this version.
pub fn remember(job_table: pg_sys::Oid, version: u64, note: impl FnOnce(&mut Read)) {
    remember_if(job_table, |entry| &entry.routes_version, version, note);
}

/// The same, of the bounds of backlogs.
pub fn remember_bounds(job_table: pg_sys::Oid, version: u64, note: impl FnOnce(&mut Read)) {
    remember_if(job_table, |entry| &entry.bounds_version, version, note);
}

/// The same, of a condition of an index, which tells by itself whether it is that which was seen.
pub fn remember_condition(job_table: pg_sys::Oid, index: usize, number: u64) {
    remember_always(job_table, |read| read.note_condition(index, number));
}

/// What backends have found to belong to the extension.
pub const FOUND: catalog::Shared = catalog::Shared {
    knows: |job_table, object| recall(job_table, |read| read.is_own(object)) == Some(true),
    note: |job_table, object| remember_always(job_table, |read| read.note_own(object)),
};

fn remember_always(job_table: pg_sys::Oid, note: impl FnOnce(&mut Read)) {
    let _ = with_existing(job_table, |memory| {
        note(&mut memory.state.read);
        Ok(())
    });
}

fn remember_if(
    job_table: pg_sys::Oid,
    of: impl Fn(&Entry) -> &AtomicU64,
    version: u64,
    note: impl FnOnce(&mut Read),
) {
    let _ = with_existing(job_table, |memory| {
        if of(memory.growth.entry).load(Ordering::Acquire) == version {
            note(&mut memory.state.read);
        }
        Ok(())
    });
}
