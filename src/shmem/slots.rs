//! Which slot, with a window, a database has: found, or given to it.

use super::directory::{self, Entry, Guard, entry};
use super::window::{give_back_all, my_database, open};
use super::{latches, statistics_file};
use crate::pg::catalog;
use crate::pg::error::{Result, on_standby};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use pgrx::pg_sys::{self, FormData_pg_database};
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

/// Finds the slot of this database, which gets one if it has none.
///
/// Not on a standby: no trigger fires for what it replays, so its memory would be wrong at once, and would be trusted when the
/// standby is promoted, as sessions live on.
fn assign_slot(job_table: pg_sys::Oid) -> Result<usize> {
    if server::is_in_recovery() {
        return Err(on_standby());
    }
    let slot = match existing_slot()? {
        Some(slot) => slot,
        None => take_slot(job_table)?,
    };
    adopt(slot, job_table)?;
    SLOT.set(Some(slot));
    Ok(slot)
}

/// A free one, one whose database is gone, or a new one.
fn take_slot(job_table: pg_sys::Oid) -> Result<usize> {
    let database = my_database();
    // Both take long, and the first may raise an error, so they come before the locks.
    let gone = gone_databases();
    let kept = statistics_file::read(database, job_table);
    let directory = Guard::of_directory()?;
    // Another session may have come first.
    if let Some(slot) = find_where(|other| other == database) {
        return Ok(slot);
    }
    let known = find_where(|other| other == pg_sys::InvalidOid)
        .or_else(|| find_where(|other| gone.contains(&other)));
    let slot = match known {
        Some(slot) => slot,
        None => directory::add()?,
    };
    let _guard = Guard::of(slot)?;
    give_back_all(slot)?;
    change_owner(entry(slot)?, job_table);
    drop(directory);
    // Others of this database wait for the guard, so they find its statistics.
    statistics_file::go_on(&mut open(slot)?, database, kept);
    Ok(slot)
}

/// Where the extension was recreated, its memory starts anew. The slot stays that of the database for as long as this session lives.
fn adopt(slot: usize, job_table: pg_sys::Oid) -> Result<()> {
    let entry = entry(slot)?;
    if entry.owner().1 == job_table {
        return Ok(());
    }
    let guard = Guard::of(slot)?;
    let mut calls = Vec::new();
    if entry.owner().1 != job_table {
        if entry.is_backed() {
            // A backend that listened to an extension that was recreated listens on.
            let mut locked = open(slot)?;
            // Where it fails, the memory is found dirty.
            locked.state.dirty = locked.start_anew().is_err();
            calls = std::mem::take(&mut locked.calls);
        }
        change_owner(entry, job_table);
    }
    drop(guard);
    latches::ring(&calls);
    Ok(())
}

/// Called under the lock.
fn change_owner(entry: &Entry, job_table: pg_sys::Oid) {
    entry.set_owner(my_database(), job_table);
    entry.routes_version.fetch_add(1, Ordering::Release);
    entry.bounds_version.fetch_add(1, Ordering::Release);
}

/// The slot of this database, if it has one.
pub(super) fn existing_slot() -> Result<Option<usize>> {
    let _directory = Guard::of_directory()?;
    Ok(find_where(|database| database == my_database()))
}

/// The database is being dropped: nothing of it is left to look at.
pub fn release(database: pg_sys::Oid) -> Result<()> {
    statistics_file::remove(database);
    let _directory = Guard::of_directory()?;
    if let Some(slot) = find_where(|other| other == database) {
        let _guard = Guard::of(slot)?;
        give_back_all(slot)?;
        entry(slot)?.set_owner(pg_sys::InvalidOid, pg_sys::InvalidOid);
    }
    Ok(())
}

/// The caller holds the directory lock, under which slots change hands.
fn find_where(is_it: impl Fn(pg_sys::Oid) -> bool) -> Option<usize> {
    let owner = |slot| entry(slot).map_or(pg_sys::InvalidOid, |entry| entry.owner().0);
    (0..directory::count()).find(|&slot| is_it(owner(slot)))
}

/// Databases that have a slot and do not exist any more. Found without a lock: the catalog must not be asked under one.
fn gone_databases() -> Vec<pg_sys::Oid> {
    let exists = |database| catalog::read(database, |_: &FormData_pg_database| ()).is_some();
    let owners = (0..directory::count()).filter_map(|slot| Some(entry(slot).ok()?.owner().0));
    owners
        .filter(|&database| database != pg_sys::InvalidOid && !exists(database))
        .collect()
}
