//! Who has changed a table in a transaction that is open, and locks beside those of tables.

#![allow(unsafe_code, reason = "asks the server for locks, and who has them")]

use crate::pg::{compat, unguarded};
use pgrx::pg_sys::{self, Oid};

/// Waits until no other transaction has this lock, and keeps it until this one ends. `part`: a number that no column of the table has.
pub fn lock_part(table: Oid, part: u16) {
    // SAFETY: any object can be locked, whether there is one or not.
    unsafe {
        pg_sys::LockDatabaseObject(
            pg_sys::RelationRelationId,
            table,
            part,
            pg_sys::ExclusiveLock.cast_signed(),
        );
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
