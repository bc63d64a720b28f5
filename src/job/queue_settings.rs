//! What is set for queues, for producers, claims and ends. Backends keep what they read until a commit changes it, and share it with
//! those that come later. A transaction that has changed it itself reads it anew.

use crate::job::gates::DEFAULT_ROW;
use crate::job::lane::queue_key;
use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::error::{Result, internal};
use crate::pg::rights::Owner;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Rows, Statement, statement, with_spi};
use crate::shmem::{self, QueueSettings};
use crate::transaction::{self, pending};
use pgrx::pg_sys::Oid;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use turnstile_scheduler::EVERY_QUEUE;

static SETTINGS: Statement = statement!("queue_settings", [INT8OID]);

/// The most queues that a backend remembers.
const MOST: usize = 1_000;

/// The jobs, and the version of routes and settings, for which something holds.
pub type Version = (Oid, u64);

thread_local! {
    static KEPT: RefCell<(Version, FxHashMap<u64, QueueSettings>)> =
        RefCell::new(((Oid::INVALID, 0), FxHashMap::default()));
}

/// As this transaction sees them.
pub fn of_queue(queue: u64) -> Result<QueueSettings> {
    find(queue, as_seen)
}

/// As they are committed, without changes of this transaction. [`EVERY_QUEUE`]: those of a queue without a row.
pub fn committed(queue: u64) -> Result<QueueSettings> {
    match queue {
        EVERY_QUEUE => find(queue_key(DEFAULT_ROW), as_committed),
        queue => find(queue, as_committed),
    }
}

/// For producers of any role. Where what is set must be read anew for each job, it is not looked for.
pub fn has_durable_claims(queue: u64) -> Result<bool> {
    match version()? {
        Some(of) => find_as_of(of, queue, as_seen).map(|settings| settings.durable_claims),
        None => Ok(true),
    }
}

/// What is read next may be kept, and shared, for as long as this stays the same. None: while the transaction has changes of its own, or
/// without memory.
pub fn version() -> Result<Option<Version>> {
    if pending::with(|pending| pending.changes_routes()) {
        return Ok(None);
    }
    let table = catalog::job_table()?;
    Ok(shmem::routes_version(table).map(|version| (table, version)))
}

/// Whether what this transaction reads is what others read: it has written nothing that a rollback could take back.
pub fn can_be_shared() -> bool {
    !transaction::has_id() || armed(Seeded::ShareOwnSettings)
}

fn find(queue: u64, read: fn(u64) -> Result<QueueSettings>) -> Result<QueueSettings> {
    match version()? {
        Some(of) => find_as_of(of, queue, read),
        None => read(queue),
    }
}

fn find_as_of(
    of: Version,
    queue: u64,
    read: fn(u64) -> Result<QueueSettings>,
) -> Result<QueueSettings> {
    if let Some(settings) = kept(of, queue) {
        return Ok(settings);
    }
    let (table, version) = of;
    let shared = shmem::recall(table, |read| read.queue(version, queue)).flatten();
    let settings = match shared {
        Some(settings) => settings,
        None => {
            let settings = read(queue)?;
            if can_be_shared() {
                shmem::remember(table, version, |read| {
                    read.note_queue(version, queue, settings);
                });
            }
            settings
        }
    };
    keep(of, queue, settings);
    Ok(settings)
}

fn kept(of: Version, queue: u64) -> Option<QueueSettings> {
    KEPT.with_borrow(|(kept_of, kept)| {
        let is_right = *kept_of == of || armed(Seeded::KeepQueueSettings);
        kept.get(&queue).copied().filter(|_| is_right)
    })
}

fn keep(of: Version, queue: u64, settings: QueueSettings) {
    KEPT.with_borrow_mut(|(kept_of, kept)| {
        if *kept_of != of || kept.len() >= MOST {
            kept.clear();
            *kept_of = of;
        }
        kept.insert(queue, settings);
    });
}

fn as_seen(queue: u64) -> Result<QueueSettings> {
    let queue = [datum(queue.cast_signed())];
    Owner::of_jobs()?.run(|| with_spi(|spi| settings(&spi.run(&SETTINGS, &queue)?)))
}

fn as_committed(queue: u64) -> Result<QueueSettings> {
    let mut found = None;
    with_spi(|spi| {
        let queue = [datum(queue.cast_signed())];
        spi.committed_rows([c"queue"], &SETTINGS, &queue, |rows| {
            found = Some(settings(rows)?);
            Ok(())
        })
    })?;
    found.ok_or_else(|| internal("no settings are in force"))
}

fn settings(rows: &Rows) -> Result<QueueSettings> {
    Ok(QueueSettings {
        max_attempts: rows.required(0, 1)?,
        lease: rows.required(0, 2)?,
        keeps_no_completed: rows.required(0, 3)?,
        durable_claims: rows.required(0, 4)?,
    })
}
