//! Entries: the part of lanes and nodes that heaps compare and link.
//!
//! The rest of a lane or a node is stored apart from it. So a step along a heap touches half a cache line, and lanes
//! do not pay for what only nodes need.

use crate::memory::flags::Bits;
use crate::memory::gate::{GateKind, for_each_kind};

macro_rules! kind {
    ($($kind:ident: $name:ident,)*) => {
        /// What an entry of the tree is.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Kind {
            #[default]
            Free,
            /// The queues whose settings have to be read.
            Unread,
            /// The queues whose jobs age equally fast, or not at all.
            Aging,
            $($kind,)*
            /// The lanes and sessions of one home that share a concurrency key.
            KeyGroup,
            Lane,
        }

        impl Kind {
            #[cfg(feature = "damage")]
            pub(crate) const ALL: [Kind; GateKind::ALL.len() + 5] = [
                Kind::Free,
                Kind::Unread,
                Kind::Aging,
                $(Kind::$kind,)*
                Kind::KeyGroup,
                Kind::Lane,
            ];

            /// That of the nodes of such a gate.
            pub(crate) fn of_gate(kind: GateKind) -> Self {
                match kind {
                    $(GateKind::$kind => Self::$kind,)*
                }
            }
        }
    };
}
for_each_kind!(kind);

/// What heaps know of a lane, or of a node that gathers the lanes behind one gate of one queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// A lower bound of the positions of the lane's available jobs. A node has a copy of its best member's.
    pub(crate) head: i64,
    /// The priority minus what was gained by waiting.
    pub(crate) level: i32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) up: u32,
    /// The next node above. The entry waits there unless something keeps it elsewhere. For a session: where
    /// its first lane waited when the session was last placed. For a node above queues: the interval in which
    /// their jobs age, in milliseconds.
    pub(crate) home: u32,
    pub(crate) kind: Kind,
    /// The distance to the nearest free child in the leftist heap, and that of the left child.
    pub(crate) distance: u8,
    pub(crate) left_distance: u8,
    pub(crate) bits: Bits,
}

const VERIFIED: u8 = 1;
const MIXED: u8 = 2;
const BLOCKED: u8 = 4;
const PLACED: u8 = 8;
const AWAY: u8 = 16;
const TAGGED: u8 = 32;
const DOUBTFUL: u8 = 64;

impl Entry {
    /// A lane whose head was seen to be an available job, or a fair queue whose first lane was seen to be next,
    /// and which nothing has put in doubt since.
    pub(crate) fn is_verified(&self) -> bool {
        self.bits.has(VERIFIED)
    }
    pub(crate) fn set_verified(&mut self, on: bool) {
        self.bits.set(VERIFIED, on);
    }

    /// A session whose lanes differ in more than priority. One of them may be blocked while another is not.
    pub(crate) fn is_mixed(&self) -> bool {
        self.bits.has(MIXED)
    }
    pub(crate) fn set_mixed(&mut self) {
        self.bits.set(MIXED, true);
    }

    /// A session whose next job is locked by a transaction that is not claiming.
    pub(crate) fn is_blocked(&self) -> bool {
        self.bits.has(BLOCKED)
    }
    pub(crate) fn set_blocked(&mut self, on: bool) {
        self.bits.set(BLOCKED, on);
    }

    /// It is in a heap.
    pub(crate) fn is_placed(&self) -> bool {
        self.bits.has(PLACED)
    }
    pub(crate) fn set_placed(&mut self, on: bool) {
        self.bits.set(PLACED, on);
    }

    /// It is not at home: a lane in its session, a session at its tenant, a key group at its key.
    pub(crate) fn is_away(&self) -> bool {
        self.bits.has(AWAY)
    }
    pub(crate) fn set_away(&mut self, on: bool) {
        self.bits.set(AWAY, on);
    }

    /// It has a rank among the tenants of a fair queue. All others have the tag 0.
    pub(crate) fn is_tagged(&self) -> bool {
        self.bits.has(TAGGED)
    }
    pub(crate) fn set_tagged(&mut self, on: bool) {
        self.bits.set(TAGGED, on);
    }

    /// A lane of which a job has gone otherwise than by a claim, and that was not looked at since.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.bits.has(DOUBTFUL)
    }
    pub(crate) fn set_doubtful(&mut self, on: bool) {
        self.bits.set(DOUBTFUL, on);
    }
}
