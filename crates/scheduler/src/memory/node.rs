//! Nodes: what is stored beside its entry of each node that gathers lanes behind one gate of one queue.

use crate::memory::slab::Slot;

/// The rest of a node.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    /// How much its tenant has had for its weight, while [`Entry::is_tagged`].
    pub(crate) tag: u64,
    /// The best member of its own heap.
    pub(crate) root: u32,
    /// Of a session its tenant, of a bundle its concurrency key; of others the member that came to its heap last.
    pub(crate) other: u32,
    pub(crate) gate: u32,
    /// The next node behind the same gate.
    pub(crate) gate_next: u32,
    /// Lanes that refer to it.
    pub(crate) lanes: u32,
    /// Of a queue, which needs no index: the next in the chain of queues.
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
