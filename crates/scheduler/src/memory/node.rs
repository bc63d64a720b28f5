//! Nodes: what is stored beside its entry of each node that gathers lanes behind one gate of one queue.

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
    /// The next node behind the same gate.
    pub(crate) gate_next: u32,
    /// Lanes that refer to it.
    pub(crate) lanes: u32,
    /// For a queue, which needs no index: the next queue in the chain of queues.
    pub(crate) index_next: u32,
}

impl Slot for Node {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}
