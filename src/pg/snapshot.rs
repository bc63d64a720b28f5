//! Snapshots: what is committed at a moment.

#![allow(unsafe_code, reason = "takes and reads snapshots of the server")]

use crate::pg::seeded::{Seeded, armed};
use pgrx::pg_sys;

/// The id that the next transaction will get, with its epoch.
pub fn next_transaction_id() -> u64 {
    // SAFETY: reads shared memory under the server's own lock.
    unsafe { pg_sys::ReadNextFullTransactionId().value }
}

/// The oldest transaction id that some snapshot of the server may take for running, in a table of this database.
pub fn oldest_seen_transaction_id(table: pg_sys::Oid) -> pg_sys::TransactionId {
    // SAFETY: the table is open meanwhile, with a lock that nothing waits for but its end.
    unsafe {
        let lock = pg_sys::AccessShareLock as i32;
        let relation = pg_sys::table_open(table, lock);
        let oldest = pg_sys::GetOldestNonRemovableTransactionId(relation);
        pg_sys::table_close(relation, lock);
        oldest
    }
}

/// A registered snapshot.
pub struct Snapshot(pub pg_sys::Snapshot);

impl Snapshot {
    /// What is committed now, without what the transaction itself has changed.
    pub fn take() -> Self {
        // SAFETY: called inside a transaction; registering copies the snapshot. No change of the
        // transaction belongs to a command before the first.
        unsafe {
            let snapshot = Self::with_own_changes();
            (*snapshot.0).curcid = pg_sys::FirstCommandId;
            snapshot
        }
    }

    /// What is committed now, and what the transaction itself has changed.
    pub fn with_own_changes() -> Self {
        // SAFETY: called inside a transaction; registering copies the snapshot.
        Self(unsafe { pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot()) })
    }

    /// The first transaction id that the snapshot does not see, and those before it that it does not see:
    /// the ones that ran, and the transaction's own.
    pub fn horizon(&self) -> (u64, Vec<u32>) {
        // SAFETY: the snapshot is registered; xip has xcnt elements.
        unsafe {
            let snapshot = &*self.0;
            let next = next_transaction_id();
            let next_short = next as u32;
            let xmax = next - u64::from(next_short.wrapping_sub(u32::from(snapshot.xmax)));
            let count = usize::try_from(snapshot.xcnt).unwrap_or(0);
            let mut running = match count {
                0 => Vec::new(),
                _ => std::slice::from_raw_parts(snapshot.xip.cast::<u32>(), count).to_vec(),
            };
            if !armed(Seeded::RebuildSeesItself) {
                running.push(u32::from(pg_sys::GetTopTransactionIdIfAny()));
            }
            (xmax, running)
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // SAFETY: registered in `take`; after an error the resource owner has released it already.
        unsafe {
            if !std::thread::panicking() {
                pg_sys::UnregisterSnapshot(self.0);
            }
        }
    }
}
