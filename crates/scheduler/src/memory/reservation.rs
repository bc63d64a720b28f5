//! Reservations: what is stored of the room that an open transaction holds for one job. See `claim::reservation`.

use crate::memory::gate::{GateKind, MAX_GATES};
use crate::memory::lane::LaneSpec;
use crate::memory::slab::{chained_slot, mix};
use crate::memory::step::NONE;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReservationId(pub(crate) u32);

impl ReservationId {
    /// False for the default value, which no reservation has.
    pub fn is_some(&self) -> bool {
        self.0 != NONE
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Reservation {
    pub(crate) spec: LaneSpec,
    pub(crate) position: i64,
    pub(crate) next: u32,
    pub(crate) stage: Stage,
    /// One bit for each kind of gate: the gates at which this run took over room that its own transaction
    /// gives back.
    pub(crate) transferred: u8,
    /// One bit for each kind of gate: the gates at which a token is set aside for the job.
    pub(crate) metered: u8,
    /// What a fair queue has charged its tenant, as long as it is not certain that the job starts.
    pub(crate) charged: u32,
    /// The level at which it was charged.
    pub(crate) level: i32,
}

#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Free,
    /// Room is held. No job is known yet.
    Room,
    /// The job at `position` is locked by the owner.
    Job,
}

chained_slot!(Reservation, live: |it| it.stage != Stage::Free, key: |it| it.index_key());

pub(crate) fn job_key(lane: u64, position: i64) -> u64 {
    mix(lane, position.cast_unsigned())
}

const _: () = assert!(MAX_GATES <= u8::BITS as usize);

pub(crate) fn bit(kind: GateKind) -> u8 {
    1 << (kind as u8)
}

impl Reservation {
    /// The index holds the reservations whose job is known.
    pub(crate) fn index_key(&self) -> Option<u64> {
        match self.stage {
            Stage::Job => Some(job_key(self.spec.lane, self.position)),
            Stage::Free | Stage::Room => None,
        }
    }

    pub(crate) fn held_gates(&self) -> impl Iterator<Item = (GateKind, u64)> + use<> {
        let transferred = self.transferred;
        self.spec
            .gates()
            .filter(move |&(kind, _)| transferred & bit(kind) == 0)
    }

    pub(crate) fn metered_gates(&self) -> impl Iterator<Item = (GateKind, u64)> + use<> {
        let metered = self.metered;
        self.spec
            .gates()
            .filter(move |&(kind, _)| metered & bit(kind) != 0)
    }

    pub(crate) fn transferred_gates(&self) -> impl Iterator<Item = (GateKind, u64)> + use<> {
        let transferred = self.transferred;
        self.spec
            .gates()
            .filter(move |&(kind, _)| transferred & bit(kind) != 0)
    }
}
