//! Nodes: what is stored beside its entry of each node that gathers lanes behind one gate of one queue.

use crate::memory::entry::{Entry, Kind};
use crate::memory::slab::Slot;

/// What is stored of a node beside its entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// How much its tenant has had for its weight, if [`Entry::is_tagged`].
    pub(crate) tag: u64,
    /// The best member of its own heap.
    pub(crate) root: u32,
    /// For a session: its tenant. For a key group: the node of its concurrency key. For others: the member
    /// that came to its heap last.
    pub(crate) other: u32,
    pub(crate) gate: u32,
    /// Its neighbors in the list of the nodes behind the same gate. For a node above queues, which has no gate: in the
    /// chain of these.
    pub(crate) gate_next: u32,
    pub(crate) gate_prev: u32,
    /// Lanes that refer to it. For a node above queues: the queues below it.
    pub(crate) lanes: u32,
    /// For a queue, which needs no index: the first in the list of its lanes.
    pub(crate) index_next: u32,
    /// For a tenant: the first lane of its ring. The one before it is the last.
    pub(crate) oldest: u32,
    /// For a tenant: the tenants before and after it that have about as many lanes.
    pub(crate) peer_before: u32,
    pub(crate) peer_after: u32,
}

impl Slot for Node {
    type Beside = Entry;
    const CHAIN: u32 = 2;

    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
    fn is_live(&self, entry: &Entry) -> bool {
        entry.kind != Kind::Free
    }
    fn key(&self, entry: &Entry) -> Option<u64> {
        let behind = match entry.kind {
            Kind::KeyGroup => self.other,
            _ => self.gate,
        };
        index_key(entry.kind, behind, entry.home)
    }
}

/// The key in the index; none where the gate is enough to find the node.
pub(crate) fn index_key(kind: Kind, behind: u32, above: u32) -> Option<u64> {
    match kind {
        Kind::Queue | Kind::Session => None,
        _ => Some(u64::from(behind) << 32 | u64::from(above) ^ (kind as u64) << 56),
    }
}
