//! Entries: the part of lanes and nodes that heaps compare and link.
//!
//! The rest of a lane or a node is stored apart from it. So a step along a heap touches half a cache line, and lanes
//! do not pay for what only nodes need.

use crate::memory::flags::Bits;

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

/// What heaps know of a lane, or of a node that gathers lanes behind one gate of one queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// A lower bound of the lane's available positions; a node's copy of its best member's.
    pub(crate) head: i64,
    /// The priority, less what was gained by waiting.
    pub(crate) level: i32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    /// Of a queue, which is in no heap: the one before it in the chain of queues.
    pub(crate) up: u32,
    /// The next node above, where it waits unless something keeps it elsewhere. A session's is where its first lane
    /// waited when the session was last put there.
    pub(crate) home: u32,
    pub(crate) kind: Kind,
    /// Leftist-heap distance to the nearest free child, and the left child's.
    pub(crate) distance: u8,
    pub(crate) left_distance: u8,
    pub(crate) bits: Bits,
}

const EXACT: u8 = 1;
const MIXED: u8 = 2;
const BLOCKED: u8 = 4;
const PLACED: u8 = 8;
const AWAY: u8 = 16;
const TAGGED: u8 = 32;

impl Entry {
    /// A lane whose head was seen to be an available job, and nothing has raised doubts since.
    pub(crate) fn is_exact(&self) -> bool {
        self.bits.has(EXACT)
    }
    pub(crate) fn set_exact(&mut self, on: bool) {
        self.bits.set(EXACT, on);
    }

    /// A session whose lanes differ in more than priority: one may be blocked while another is not.
    pub(crate) fn is_mixed(&self) -> bool {
        self.bits.has(MIXED)
    }
    pub(crate) fn set_mixed(&mut self) {
        self.bits.set(MIXED, true);
    }

    /// A session whose next job is locked by somebody who is not claiming.
    pub(crate) fn is_blocked(&self) -> bool {
        self.bits.has(BLOCKED)
    }
    pub(crate) fn set_blocked(&mut self, on: bool) {
        self.bits.set(BLOCKED, on);
    }

    /// In a heap.
    pub(crate) fn is_placed(&self) -> bool {
        self.bits.has(PLACED)
    }
    pub(crate) fn set_placed(&mut self, on: bool) {
        self.bits.set(PLACED, on);
    }

    /// Not at home: a lane in its session, a session at its tenant, a bundle at its key.
    pub(crate) fn is_away(&self) -> bool {
        self.bits.has(AWAY)
    }
    pub(crate) fn set_away(&mut self, on: bool) {
        self.bits.set(AWAY, on);
    }

    /// Among tenants of a fair queue; all others have the tag 0.
    pub(crate) fn is_tagged(&self) -> bool {
        self.bits.has(TAGGED)
    }
    pub(crate) fn set_tagged(&mut self, on: bool) {
        self.bits.set(TAGGED, on);
    }
}
