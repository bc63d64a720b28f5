//! Snapshots: what is committed at a moment.

#![allow(unsafe_code, reason = "takes and reads snapshots of the server")]

use crate::pg::seeded::{Seeded, armed};
use crate::pg::unguarded;
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
            unsafe { (*self.0).xcnt == 0 && u32::from(unguarded::GetTopTransactionIdIfAny()) == 0 };
        nobody_is_listed && xmax == next_transaction_id()
    }

    /// The end of the ids that the snapshot can see, and those before it that it does not see, in order: of `known`, which are
    /// before `first`, and of all from `first` on. Savepoints have ids of their own. Those of this transaction count as not seen.
    pub fn unfinished(&self, known: &[u64], first: u64) -> (u64, Vec<u64>) {
        // SAFETY: the snapshot is registered; its lists are there, and have as many elements as it says, where none is left out.
        let (oldest, end, listed) = unsafe {
            let snapshot = &*self.0;
            let next = next_transaction_id();
            let full = |id: u32| next - u64::from((next as u32).wrapping_sub(id));
            // Where a transaction has many savepoints, or is the one that asks, the list lacks some.
            let is_whole =
                !snapshot.suboverflowed && u32::from(unguarded::GetTopTransactionIdIfAny()) == 0;
            let mut listed = is_whole.then(Vec::new);
            let subxcnt = match armed(Seeded::OverlookSavepoints) {
                true => 0,
                false => u32::try_from(snapshot.subxcnt).unwrap_or(0),
            };
            for (ids, count) in [(snapshot.xip, snapshot.xcnt), (snapshot.subxip, subxcnt)] {
                if let Some(listed) = listed.as_mut().filter(|_| count > 0) {
                    let ids = std::slice::from_raw_parts(ids.cast::<u32>(), count as usize);
                    listed.extend(ids.iter().map(|&id| full(id)));
                }
            }
            (
                full(u32::from(snapshot.xmin)),
                full(u32::from(snapshot.xmax)),
                listed,
            )
        };
        let known = known
            .iter()
            .copied()
            .filter(|&id| id >= oldest && id < first.min(end));
        let mut found: Vec<u64> = known.filter(|&id| self.is_open(id)).collect();
        match listed {
            Some(mut listed) => {
                listed.sort_unstable();
                found.extend(listed.into_iter().filter(|&id| id >= first && id < end));
            }
            None => found.extend((oldest.max(first)..end).filter(|&id| self.is_open(id))),
        }
        (end, found)
    }

    /// Whether an id before the end of the snapshot is one of a transaction or savepoint that is open, or is one of this transaction.
    fn is_open(&self, id: u64) -> bool {
        pgrx::check_for_interrupts!();
        let id = pg_sys::TransactionId::from(id as u32);
        // SAFETY: the snapshot is registered, and keeps what is known of savepoints since its oldest transaction.
        unsafe {
            pg_sys::XidInMVCCSnapshot(id, self.0) || pg_sys::TransactionIdIsCurrentTransactionId(id)
        }
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
                running.push(u32::from(unguarded::GetTopTransactionIdIfAny()));
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
