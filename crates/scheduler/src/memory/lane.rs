//! Lanes: the gates and priority that their jobs share, and what is stored of each lane beside its entry.

use crate::memory::gate::GateKind;
use crate::memory::slab::Slot;

/// Stands for all queues: no queue has this key.
pub const EVERY_QUEUE: u64 = 0;

/// Everything that decides where the jobs of a lane may run. Keys are hashes; 0 is "none".
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneSpec {
    pub lane: u64,
    pub queue: u64,
    pub tenant: u64,
    pub account: u64,
    pub session: u64,
    pub concurrency: u64,
    /// Jobs with the same unique key run one at a time, wherever they are.
    pub unique: u64,
    pub priority: i32,
}

impl LaneSpec {
    pub fn key_of(&self, kind: GateKind) -> u64 {
        match kind {
            GateKind::Queue => self.queue,
            GateKind::Tenant => self.tenant,
            GateKind::Account => self.account,
            GateKind::Session => self.session,
            GateKind::Concurrency => self.concurrency,
            GateKind::Unique => self.unique,
        }
    }

    /// The gates that the lane passes through: at most six.
    pub fn gates(&self) -> impl Iterator<Item = (GateKind, u64)> + use<> {
        let spec = *self;
        GateKind::ALL
            .into_iter()
            .map(move |kind| (kind, spec.key_of(kind)))
            .filter(|&(_, key)| key != 0)
    }
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

impl Slot for Lane {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}
