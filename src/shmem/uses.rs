//! What each database has in memory, as its last locked section left it: read without any lock.

use super::directory::{self, anchor};
use crate::pg::error::Result;
use crate::pg::settings;
use pgrx::pg_sys;
use std::sync::atomic::Ordering;

pub struct Use {
    pub database: pg_sys::Oid,
    pub lanes: i64,
    pub gates: i64,
    pub bytes: i64,
    pub bytes_limit: i64,
    pub lanes_outside: i64,
}

pub fn uses() -> Result<Vec<Use>> {
    anchor()?;
    let mut uses = Vec::new();
    for slot in 0..directory::count() {
        let entry = directory::entry(slot)?;
        let (database, _) = entry.owner();
        if database != pg_sys::InvalidOid && entry.is_backed() {
            uses.push(Use {
                database,
                lanes: entry.lanes.load(Ordering::Relaxed).into(),
                gates: entry.gates.load(Ordering::Relaxed).into(),
                bytes: entry.bytes.load(Ordering::Relaxed).cast_signed(),
                bytes_limit: settings::max_memory().cast_signed(),
                lanes_outside: entry.lanes_outside.load(Ordering::Relaxed).cast_signed(),
            });
        }
    }
    Ok(uses)
}
