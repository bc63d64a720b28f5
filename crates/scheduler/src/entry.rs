//! What the tree of places is made of. What heaps compare and link is apart from the rest, so that a step along a
//! heap touches half a cache line, and lanes do not pay for what only nodes need.

use crate::bits::Bits;
use crate::index::Slot;
use crate::{Fault, NONE, Scheduler, Step};

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

/// The rest of a lane.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lane {
    pub(crate) key: u64,
    /// As the jobs have it.
    pub(crate) priority: i32,
    /// The lower half of the stamp drawn when the lane was last lowered, doubted or made.
    pub(crate) stamp: u32,
    pub(crate) session: u32,
    pub(crate) index_next: u32,
}

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

impl Slot for Lane {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

impl Slot for Node {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

/// Entries are numbered through: first those of lanes, then those of nodes.
impl Scheduler<'_> {
    pub(crate) fn entry(&self, at: u32) -> Step<&Entry> {
        self.entries
            .get(at as usize)
            .filter(|_| at != NONE)
            .ok_or(Fault::Corrupt("slot"))
    }

    pub(crate) fn entry_mut(&mut self, at: u32) -> Step<&mut Entry> {
        #[cfg(feature = "fault_injection")]
        crate::injection::touch();
        self.entries
            .get_mut(at as usize)
            .filter(|_| at != NONE)
            .ok_or(Fault::Corrupt("slot"))
    }

    pub(crate) fn lane(&self, at: u32) -> Step<&Lane> {
        self.lanes.get(at)
    }

    pub(crate) fn lane_mut(&mut self, at: u32) -> Step<&mut Lane> {
        #[cfg(feature = "fault_injection")]
        crate::injection::touch();
        self.lanes.get_mut(at)
    }

    pub(crate) fn node(&self, at: u32) -> Step<&Node> {
        self.nodes.get(self.node_slot(at)?)
    }

    pub(crate) fn node_mut(&mut self, at: u32) -> Step<&mut Node> {
        #[cfg(feature = "fault_injection")]
        crate::injection::touch();
        let slot = self.node_slot(at)?;
        self.nodes.get_mut(slot)
    }

    /// The number of entries that stand for lanes; the nodes' come after them.
    fn lane_entries(&self) -> u32 {
        u32::try_from(self.lanes.slots.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn node_slot(&self, at: u32) -> Step<u32> {
        at.checked_sub(self.lane_entries())
            .ok_or(Fault::Corrupt("a lane is no node"))
    }

    pub(crate) fn entry_of_node(&self, slot: u32) -> u32 {
        slot.saturating_add(self.lane_entries())
    }

    /// Every entry that was ever in use.
    pub(crate) fn touched_entries(&self) -> impl Iterator<Item = u32> + use<> {
        self.lanes.touched().chain(self.touched_nodes())
    }

    pub(crate) fn touched_nodes(&self) -> impl Iterator<Item = u32> + use<> {
        let before = self.lane_entries();
        self.nodes
            .touched()
            .map(move |slot| slot.saturating_add(before))
    }
}
