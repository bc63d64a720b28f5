//! Which slot, with a window, a database has: found, or given to it.

#![allow(unsafe_code, reason = "asks the server's caches")]

use super::directory::{self, Guard, entry};
use super::window::{give_back_all, my_database, open};
use super::{latches, statistics_file};
use crate::pg::error::{Result, on_standby};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use pgrx::pg_sys;
use std::cell::Cell;
use std::sync::atomic::Ordering;

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// That of this database, which gets one if it has none.
pub(super) fn slot(job_table: pg_sys::Oid) -> Result<usize> {
    match cached_slot(job_table) {
        Some(slot) => Ok(slot),
        None => assign_slot(job_table),
    }
}

/// The slot that this backend used last, if it is still the extension's.
pub(super) fn cached_slot(job_table: pg_sys::Oid) -> Option<usize> {
    let is_own = |slot| entry(slot).is_ok_and(|it| it.owner() == (my_database(), job_table));
    SLOT.get()
        .filter(|&slot| is_own(slot) || armed(Seeded::UseForeignSlot))
}

/// Finds the slot of this database; takes a free one, or one whose database is gone, or a new one, if it has none.
///
/// Not on a standby: no trigger fires for what it replays, so its memory would be wrong at once, and would be trusted when the
/// standby is promoted, as sessions live on.
pub(super) fn assign_slot(job_table: pg_sys::Oid) -> Result<usize> {
    if server::is_in_recovery() {
        return Err(on_standby());
    }
    let directory = Guard::of_directory()?;
    let database = my_database();
    let known = find_where(|other| other == database)
        .or_else(|| find_where(|other| other == pg_sys::InvalidOid))
        .or_else(|| find_where(|other| !database_exists(other)));
    let slot = match known {
        Some(slot) => slot,
        None => directory::add()?,
    };
    let guard = Guard::of(slot)?;
    let entry = entry(slot)?;
    let (before, table) = entry.owner();
    let mut calls = Vec::new();
    if before != database {
        give_back_all(slot)?;
    } else if table != job_table && entry.is_backed() {
        // A backend that listened to an extension that was recreated listens on.
        let mut locked = open(slot)?;
        // Where it fails, the memory is found dirty.
        locked.state.dirty = locked.start_anew().is_err();
        calls = std::mem::take(&mut locked.calls);
    }
    if (before, table) != (database, job_table) {
        entry.set_owner(database, job_table);
        entry.routes_version.fetch_add(1, Ordering::Release);
        entry.bounds_version.fetch_add(1, Ordering::Release);
    }
    if before != database {
        statistics_file::read(&mut open(slot)?, database, job_table);
    }
    drop((guard, directory));
    latches::ring(&calls);
    SLOT.set(Some(slot));
    Ok(slot)
}

/// The slot of this database, if it has one.
pub(super) fn existing_slot() -> Result<Option<usize>> {
    let _directory = Guard::of_directory()?;
    Ok(find_where(|database| database == my_database()))
}

/// The database is being dropped: nothing of it is left to look at.
pub fn release(database: pg_sys::Oid) -> Result<()> {
    let _directory = Guard::of_directory()?;
    if let Some(slot) = find_where(|other| other == database) {
        let _guard = Guard::of(slot)?;
        give_back_all(slot)?;
        entry(slot)?.set_owner(pg_sys::InvalidOid, pg_sys::InvalidOid);
    }
    statistics_file::remove(database);
    Ok(())
}

/// The caller holds the directory lock, under which slots change hands.
fn find_where(is_it: impl Fn(pg_sys::Oid) -> bool) -> Option<usize> {
    let owner = |slot| entry(slot).map_or(pg_sys::InvalidOid, |entry| entry.owner().0);
    (0..directory::count()).find(|&slot| is_it(owner(slot)))
}

fn database_exists(database: pg_sys::Oid) -> bool {
    // SAFETY: slots are assigned inside a transaction only.
    unsafe {
        pg_sys::SearchSysCacheExists(
            pg_sys::SysCacheIdentifier::DATABASEOID as i32,
            pg_sys::Datum::from(database),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
        )
    }
}
