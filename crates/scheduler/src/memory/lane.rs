//! Lanes: the gates and priority that their jobs share, and what is stored of each lane beside its entry.

use crate::memory::entry::{Entry, Kind};
use crate::memory::gate::{GateKind, for_each_kind};
use crate::memory::slab::Slot;
use std::ops::RangeInclusive;

/// Stands for all queues: no queue has this key.
pub const EVERY_QUEUE: u64 = 0;

/// Where a lane is among those of the tables: they are read in the order of their groups, and those of a group in the
/// order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey {
    pub group: i64,
    pub lane: i64,
}

impl LaneKey {
    pub const FIRST: Self = Self {
        group: i64::MIN,
        lane: i64::MIN,
    };

    /// Where a group begins.
    pub(crate) fn before(group: i64) -> Self {
        Self {
            group,
            lane: i64::MIN,
        }
    }
}

impl From<&LaneSpec> for LaneKey {
    fn from(spec: &LaneSpec) -> Self {
        Self {
            group: spec.group().cast_signed(),
            lane: spec.lane.cast_signed(),
        }
    }
}

impl Default for LaneKey {
    fn default() -> Self {
        Self::FIRST
    }
}

macro_rules! lane_spec {
    ($($kind:ident: $name:ident,)*) => {
        /// All that decides where the jobs of a lane may run. Keys are hashes; 0 stands for "none".
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct LaneSpec {
            pub lane: u64,
            $(pub $name: u64,)*
            pub priority: i32,
        }

        impl LaneSpec {
            pub fn key_of(&self, kind: GateKind) -> u64 {
                match kind {
                    $(GateKind::$kind => self.$name,)*
                }
            }

            pub fn key_mut(&mut self, kind: GateKind) -> &mut u64 {
                match kind {
                    $(GateKind::$kind => &mut self.$name,)*
                }
            }
        }
    };
}
for_each_kind!(lane_spec);

/// The bits of a lane's group that its queue decides. The tenant decides the others.
const OF_QUEUE: u64 = 0xffff_ffff_0000_0000;

impl LaneSpec {
    /// By which lanes that are not in memory are found: the upper half of the queue's key and the lower half of the
    /// tenant's. The lanes of a queue are one range of groups, those of a queue and tenant one group. Others may share
    /// them, so a search by group compares the queue and the tenant of what it finds.
    pub fn group(&self) -> u64 {
        self.queue & OF_QUEUE | self.tenant & !OF_QUEUE
    }

    /// The gates that the lane passes through: at most one of each kind.
    pub fn gates(&self) -> impl Iterator<Item = (GateKind, u64)> + use<> {
        let spec = *self;
        GateKind::ALL
            .into_iter()
            .map(move |kind| (kind, spec.key_of(kind)))
            .filter(|&(_, key)| key != 0)
    }
}

/// The groups of a queue's lanes, or of all lanes, as stored: with a sign.
pub fn group_range_of_queue(queue: u64) -> RangeInclusive<i64> {
    match queue {
        EVERY_QUEUE => i64::MIN..=i64::MAX,
        _ => (queue & OF_QUEUE).cast_signed()..=(queue | !OF_QUEUE).cast_signed(),
    }
}

/// What is stored of a lane beside its entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lane {
    pub(crate) key: u64,
    /// As the jobs have it.
    pub(crate) priority: i32,
    /// The lower half of the stamp that was drawn when the lane was last lowered, marked as unverified, or
    /// made.
    pub(crate) stamp: u32,
    pub(crate) session: u32,
    /// The lanes of the same tenant node that were made before and after it, in a ring.
    pub(crate) older: u32,
    pub(crate) newer: u32,
    pub(crate) index_next: u32,
    /// Its neighbors in the list of the lanes of its queue.
    pub(crate) queue_next: u32,
    pub(crate) queue_prev: u32,
}

impl Slot for Lane {
    type Beside = Entry;
    const CHAIN: u32 = 1;

    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
    fn is_live(&self, entry: &Entry) -> bool {
        entry.kind == Kind::Lane
    }
    fn key(&self, _: &Entry) -> Option<u64> {
        Some(self.key)
    }
}
