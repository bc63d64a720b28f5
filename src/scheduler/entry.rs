use crate::gate::MOST_GATES;
use crate::index::Slot;
use crate::{Scheduler, Step};
use std::cmp::Ordering;

/// What an entry of the tree is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Free,
    Queue,
    Tenant,
    Account,
    Session,
    Concurrency,
    Unique,
    /// The units of one home that share a concurrency key.
    Bundle,
    Lane,
}

/// Order of claims: least level first, then the tenant that is due, then least position.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// The priority, less what was gained by waiting.
    pub level: i32,
    /// As the jobs have it.
    pub priority: i32,
    /// How much its tenant has had for its weight; among one tenant's own always 0.
    pub tag: u64,
    /// A lower bound of the lane's available positions.
    pub head: i64,
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |rank: &Self| (rank.level, rank.tag, rank.head, rank.priority);
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A lane, or a node that gathers lanes behind one gate of one queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    pub key: u64,
    /// A lane's own rank; a node's copy of its best member's.
    pub rank: Rank,
    /// Changes whenever a lane's head is lowered or the lane is made anew.
    pub stamp: u64,
    pub kind: Kind,
    /// A lane whose head was seen to be an available job, and nothing has raised doubts since.
    pub(crate) is_exact: bool,
    /// A session whose lanes differ in more than priority: one may be blocked while another is not.
    pub(crate) is_mixed: bool,
    /// A session whose next job is locked by somebody who is not claiming.
    pub(crate) is_blocked: bool,
    /// Leftist-heap distance to the nearest free child.
    pub(crate) distance: u8,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) up: u32,
    /// The node in whose heap this entry sits.
    pub(crate) place: u32,
    /// The best member of this node's own heap.
    pub(crate) root: u32,
    pub(crate) index_next: u32,
    pub(crate) gate: u32,
    pub(crate) gate_prev: u32,
    pub(crate) gate_next: u32,
    /// Links a queue's node in the chain of all queues; back goes [`Self::up`], as queues are in no heap.
    pub(crate) queue_next: u32,
    /// Where it waits unless its concurrency key keeps it: the next node above.
    pub(crate) home: u32,
    pub(crate) queue: u32,
    pub(crate) tenant: u32,
    pub(crate) account: u32,
    pub(crate) session: u32,
    pub(crate) concurrency: u32,
    pub(crate) unique: u32,
    /// Lanes that refer to this node.
    pub(crate) lanes: u32,
}

impl Entry {
    /// The nodes of a lane, in the order of [`crate::GateKind::ALL`].
    pub(crate) fn nodes(&self) -> [u32; MOST_GATES] {
        [
            self.queue,
            self.tenant,
            self.account,
            self.session,
            self.concurrency,
            self.unique,
        ]
    }

    /// What the lanes of a session differ in if one may wait at a gate while another does not.
    pub(crate) fn own_gates(&self) -> [u32; 3] {
        [self.account, self.concurrency, self.unique]
    }
}

impl Slot for Entry {
    fn key(&self) -> u64 {
        self.key
    }
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

impl Scheduler<'_> {
    pub(crate) fn entry(&self, at: u32) -> Step<&Entry> {
        self.entries.get(at)
    }

    pub(crate) fn entry_mut(&mut self, at: u32) -> Step<&mut Entry> {
        #[cfg(feature = "fault_injection")]
        crate::injection::touch();
        self.entries.get_mut(at)
    }

    pub(crate) fn find_entry(&self, kind: Kind, key: u64) -> Step<Option<u32>> {
        self.entries.find(key, |entry| entry.kind == kind)
    }
}
