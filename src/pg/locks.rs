//! Who has changed a table in a transaction that is open, and locks beside those of tables.

#![allow(unsafe_code, reason = "asks the server for locks, and who has them")]

use crate::pg::{compat, unguarded};
use pgrx::pg_sys::{self, Oid};

/// What is locked of the jobs beside the table, as if it were a column: their numbers are those of no column.
#[derive(Clone, Copy)]
#[repr(u16)]
pub enum Part {
    /// The rebuild of their memory.
    Rebuild = u16::MAX,
    /// The work of their background worker.
    Worker = u16::MAX - 1,
    /// Moves of jobs to other parents.
    Moves = u16::MAX - 2,
}

/// Something that is locked and is no table.
pub struct Object(pg_sys::LOCKTAG);

impl Object {
    pub fn part(table: Oid, part: Part) -> Self {
        // SAFETY: a constant of the process.
        let database = unsafe { pg_sys::MyDatabaseId };
        Self::of(database, pg_sys::RelationRelationId, table, part as u16)
    }

    /// As the server locks it, for who connects to it or drops it.
    pub fn database() -> Self {
        // SAFETY: a constant of the process.
        let database = unsafe { pg_sys::MyDatabaseId };
        Self::of(pg_sys::InvalidOid, pg_sys::DatabaseRelationId, database, 0)
    }

    fn of(database: Oid, class: Oid, object: Oid, part: u16) -> Self {
        Self(pg_sys::LOCKTAG {
            locktag_field1: database.into(),
            locktag_field2: class.into(),
            locktag_field3: object.into(),
            locktag_field4: part,
            locktag_type: pg_sys::LockTagType::LOCKTAG_OBJECT as u8,
            locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
        })
    }

    /// Waits until no other transaction has the lock, and keeps it until this one ends.
    pub fn lock(&self) {
        self.acquire(pg_sys::ExclusiveLock, false);
        // SAFETY: inside a transaction. What was awaited may have changed the catalog.
        unsafe { pg_sys::AcceptInvalidationMessages() };
    }

    /// Locks until the transaction ends, unless another process has a lock against that.
    pub fn try_lock(&self, mode: u32) -> bool {
        self.acquire(mode, true) != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }

    /// Waits until no other process has the lock, and keeps it for as long as the result lives.
    pub fn hold(self) -> Held {
        self.acquire(pg_sys::ExclusiveLock, false);
        Held(self)
    }

    fn acquire(&self, mode: u32, gives_up: bool) -> pg_sys::LockAcquireResult::Type {
        // SAFETY: any object can be locked, whether there is one or not.
        unsafe { pg_sys::LockAcquire(&self.0, mode.cast_signed(), false, gives_up) }
    }
}

pub struct Held(Object);

impl Drop for Held {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: acquired in `hold`; after an error the abort releases it.
            unsafe { pg_sys::LockRelease(&self.0.0, pg_sys::ExclusiveLock.cast_signed(), false) };
        }
    }
}

/// The transactions that hold a lock with which a table is changed, as numbers; this one if it has an id. None of two that
/// the server has had since its start have the same.
pub fn writers(table: Oid) -> Vec<u64> {
    let mut found = other_writers(table);
    if u32::from(unguarded::GetTopTransactionIdIfAny()) != 0 {
        let (process, transaction) = compat::virtual_transaction();
        found.push(number(process.cast_unsigned(), transaction));
    }
    found
}

/// Whether another transaction holds such a lock.
pub fn is_written_by_others(table: Oid) -> bool {
    !other_writers(table).is_empty()
}

fn other_writers(table: Oid) -> Vec<u64> {
    let mut count = 0;
    // SAFETY: the tag is that of a table of this database. The list has as many pairs of 4 bytes as it says, whatever the server
    // calls them, and is freed with the memory of the call.
    unsafe {
        let tag = pg_sys::LOCKTAG {
            locktag_field1: u32::from(pg_sys::MyDatabaseId),
            locktag_field2: u32::from(table),
            locktag_field3: 0,
            locktag_field4: 0,
            locktag_type: pg_sys::LockTagType::LOCKTAG_RELATION as u8,
            locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
        };
        let list = pg_sys::GetLockConflicts(&tag, pg_sys::ShareLock.cast_signed(), &mut count);
        match usize::try_from(count) {
            Ok(count) if count > 0 => std::slice::from_raw_parts(list.cast::<[u32; 2]>(), count)
                .iter()
                .map(|&[process, transaction]| number(process, transaction))
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn number(process: u32, transaction: u32) -> u64 {
    u64::from(process) << 32 | u64::from(transaction)
}
