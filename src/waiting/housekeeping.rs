//! What the notifier does for the memory of all databases beside notifying: it gives back what is not needed, and tells the
//! server's log where there is too little.

use crate::pg::error::{Result, memory_is_full};
use crate::pg::server::SECOND;
use crate::pg::{server, settings};
use crate::shmem;
use pgrx::pg_sys;
use std::collections::HashSet;

/// The log hears of each database no more often than this.
const PAUSE: i64 = 60 * SECOND;

pub struct Housekeeping {
    next: i64,
    limit: u64,
    /// Databases of which the log has heard since.
    reported: HashSet<pg_sys::Oid>,
}

impl Housekeeping {
    pub fn begin() -> Self {
        Self {
            next: i64::MIN,
            limit: settings::max_memory(),
            reported: HashSet::new(),
        }
    }

    /// Does what is due; returns when to be called again.
    pub fn run(&mut self) -> Result<i64> {
        let limit = settings::max_memory();
        if limit < self.limit {
            for slot in shmem::slots() {
                shmem::start_smaller(slot)?;
            }
        }
        self.limit = limit;
        let now = server::now();
        let is_time = now >= self.next;
        if is_time {
            self.next = now.saturating_add(PAUSE);
            self.reported.clear();
        }
        for slot in shmem::slots() {
            if is_time {
                shmem::tidy(slot)?;
            }
            self.report(slot)?;
        }
        Ok(self.next)
    }

    fn report(&mut self, slot: usize) -> Result<()> {
        if shmem::take_lack(slot)? {
            let database = shmem::database_of(slot)?;
            if self.reported.insert(database) {
                memory_is_full(database.into()).warn();
            }
        }
        Ok(())
    }
}
