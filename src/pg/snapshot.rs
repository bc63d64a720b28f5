//! Snapshots: what is committed at a moment.

#![allow(unsafe_code, reason = "takes and reads snapshots of the server")]

use crate::pg::seeded::{Seeded, armed};
use pgrx::pg_sys;

/// The id that the next transaction will get, with its epoch.
pub fn next_transaction_id() -> u64 {
    // SAFETY: reads shared memory under the server's own lock.
    unsafe { pg_sys::ReadNextFullTransactionId().value }
}

/// Gives this transaction an id, by which other transactions know that it is open.
pub fn assign_transaction_id() {
    // SAFETY: called inside of a transaction that is about to write.
    unsafe { pg_sys::GetTopTransactionId() };
}

/// The oldest transaction id that some snapshot of the server may consider running, in a table of this database.
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

    /// Whether no transaction with an id was open; this one has none, either.
    pub fn is_alone(&self) -> bool {
        let (xmax, _) = self.horizon();
        // SAFETY: the snapshot is registered; reads the backend's state.
        let nobody_is_listed =
            unsafe { (*self.0).xcnt == 0 && u32::from(pg_sys::GetTopTransactionIdIfAny()) == 0 };
        nobody_is_listed && xmax == next_transaction_id()
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
