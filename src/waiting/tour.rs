//! Looks into each database once: after a restart, or in a copy of another database, no memory knows of its recurring jobs.
//! One worker goes from one database to the next.

#![allow(
    unsafe_code,
    reason = "reads the list of databases without being connected to one"
)]

use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::{self, SECOND};
use crate::shmem;
use crate::waiting::patrol;
use pgrx::pg_sys::{self, FormData_pg_database, Oid};
use std::collections::{HashMap, HashSet};
use turnstile_scheduler::times::NEVER;

/// How often the list of databases is read.
const PAUSE: i64 = 60 * SECOND;
/// A worker that takes longer goes on by itself.
const LONGEST_VISIT: i64 = 10 * SECOND;
const LOOK: i64 = SECOND / 10;
const FIRST_RETRY: i64 = SECOND;
const LAST_RETRY: i64 = 3_600 * SECOND;
/// `datconnlimit` of a database that cannot be used, because its DROP was cut short.
const INVALID: i32 = -2;

struct Retry {
    at: i64,
    pause: i64,
}

#[derive(Default)]
pub struct Tour {
    next_list: i64,
    /// Where nobody has been.
    todo: HashMap<Oid, Retry>,
    known: HashSet<Oid>,
    /// Where a worker is, and since when.
    visit: Option<(Oid, i64)>,
}

impl Tour {
    /// Does what is due; returns when to be called again.
    pub fn run(&mut self) -> Result<i64> {
        let now = server::now();
        if now >= self.next_list {
            self.next_list = now.saturating_add(PAUSE);
            self.list(now)?;
        }
        if let Some((database, since)) = self.visit {
            let is_over = shmem::visited()? == database;
            if !is_over && now < since.saturating_add(LONGEST_VISIT) {
                return Ok(now.saturating_add(LOOK));
            }
            self.visit = None;
            if is_over {
                self.todo.remove(&database);
            }
        }
        let due = self.todo.iter().find(|(_, retry)| retry.at <= now);
        if let Some(database) = due.map(|(&database, _)| database) {
            self.begin_visit(database, now);
            return Ok(now.saturating_add(LOOK));
        }
        let first = self.todo.values().map(|retry| retry.at).min();
        Ok(first.unwrap_or(NEVER).min(self.next_list))
    }

    fn begin_visit(&mut self, database: Oid, now: i64) {
        shmem::end_visit(Oid::INVALID);
        patrol::start(database);
        self.visit = Some((database, now));
        if let Some(retry) = self.todo.get_mut(&database) {
            retry.at = now.saturating_add(retry.pause);
            retry.pause = retry.pause.saturating_mul(2).min(LAST_RETRY);
        }
    }

    fn list(&mut self, now: i64) -> Result<()> {
        let databases = databases();
        self.known.retain(|known| databases.contains(known));
        self.todo.retain(|known, _| databases.contains(known));
        let mut informed = HashSet::new();
        for slot in shmem::slots() {
            if shmem::knows_recurring(slot)? {
                informed.insert(shmem::database_of(slot)?);
            }
        }
        for database in databases {
            if self.known.insert(database)
                && !informed.contains(&database)
                && !armed(Seeded::StayAtHome)
            {
                let pause = FIRST_RETRY;
                self.todo.insert(database, Retry { at: now, pause });
            }
        }
        Ok(())
    }
}

/// Those that accept connections, without templates.
fn databases() -> HashSet<Oid> {
    let mut found = HashSet::new();
    // SAFETY: the process is in no transaction. It has no database, but may read the catalogs that all databases share.
    unsafe {
        pg_sys::StartTransactionCommand();
        let lock = pg_sys::AccessShareLock.cast_signed();
        let table = pg_sys::table_open(pg_sys::DatabaseRelationId, lock);
        let no_keys = std::ptr::null_mut();
        let no_snapshot = std::ptr::null_mut();
        let scan = pg_sys::systable_beginscan(table, Oid::INVALID, false, no_snapshot, 0, no_keys);
        loop {
            let row = pg_sys::systable_getnext(scan);
            if row.is_null() {
                break;
            }
            let row: *const FormData_pg_database = pg_sys::GETSTRUCT(row).cast();
            let row = &*row;
            if row.datallowconn && !row.datistemplate && row.datconnlimit != INVALID {
                found.insert(row.oid);
            }
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(table, lock);
        pg_sys::CommitTransactionCommand();
    }
    found
}
