//! Which slot of the segment belongs to which database.

#![allow(unsafe_code, reason = "opens memory that is locked")]

use super::segment::{Guard, open, peek};
use super::{DatabaseState, latches};
use crate::pg::error::{Failure, Result, does_not_fit};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::settings;
use pgrx::pg_sys;
use std::cell::Cell;

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}

pub(super) fn my_database() -> pg_sys::Oid {
    // SAFETY: a constant of the backend.
    unsafe { pg_sys::MyDatabaseId }
}

/// The slot that this backend used last, if it is still the extension's.
pub(super) fn cached_slot(job_table: pg_sys::Oid) -> Option<usize> {
    SLOT.get()
        .filter(|&slot| peek(slot) == (my_database(), job_table) || armed(Seeded::UseForeignSlot))
}

/// Finds the slot of this database; takes a free one, or one whose database is gone, if it has none.
pub(super) fn assign_slot(job_table: pg_sys::Oid) -> Result<usize> {
    let directory = Guard::acquire(0)?;
    let database = my_database();
    let slot = find_where(|other| other == database)
        .or_else(|| find_where(|other| other == pg_sys::InvalidOid))
        .or_else(|| find_where(|other| !database_exists(other)))
        .ok_or_else(no_slot_left)?;
    let guard = Guard::acquire(slot + 1)?;
    let mut calls = Vec::new();
    // SAFETY: the slot's lock is held.
    let mut locked = unsafe { open(slot) };
    if locked.state.database != database || locked.state.job_table != job_table {
        locked.scheduler.forget_everything();
        locked.backlog.forget_everything();
        // A backend that listened to an extension that was recreated listens on.
        if locked.state.database != database {
            locked.channels.clear();
        }
        let before = std::mem::take(locked.state);
        locked.waiting.release_all(|who| calls.push(who));
        *locked.state = DatabaseState {
            database,
            job_table,
            generation: before.generation + 1,
            routes_version: before.routes_version,
            bounds_version: before.bounds_version,
            ..DatabaseState::default()
        };
        locked.draw_routes_version();
        locked.draw_bounds_version();
    }
    drop((guard, directory));
    latches::ring(&calls);
    SLOT.set(Some(slot));
    Ok(slot)
}

/// The slot of this database, if it has one.
pub(super) fn existing_slot() -> Result<Option<usize>> {
    let _directory = Guard::acquire(0)?;
    Ok(find_where(|database| database == my_database()))
}

/// The caller holds the directory lock, under which slots change hands.
fn find_where(is_it: impl Fn(pg_sys::Oid) -> bool) -> Option<usize> {
    (0..settings::max_databases()).find(|&slot| is_it(peek(slot).0))
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

fn no_slot_left() -> Failure {
    does_not_fit(
        "the schedulers of so many databases",
        "Raise turnstile.max_databases and restart the server.",
    )
}
