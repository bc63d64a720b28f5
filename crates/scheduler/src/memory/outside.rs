//! What is known of lanes that are in the tables but not in memory. See `lanes::outside`.

use crate::memory::gate::Gate;
use crate::memory::lane::LaneKey;
use crate::memory::slab::{Slot, buckets_for, mix};

pub(crate) const LOWERED_LANES: usize = 256;
pub(crate) const SEARCHED_QUEUES: usize = 16;
/// Queues, and tenants of queues, that can be known to have lanes outside. Slot 0 counts too.
pub const OUTSIDE_RECORDS: usize = 512;
pub const OUTSIDE_BUCKETS: usize = buckets_for::<Outside>(OUTSIDE_RECORDS);
/// Gates share these by the hash of their slot.
pub(crate) const OPENINGS: usize = 64;

/// The lanes that are read round after round, and what a search among them has found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// A lane with work has found no slot since the round began.
    pub spilled: bool,
    pub in_round: bool,
    /// Drawn when a round begins.
    pub number: u64,
    /// The round goes on after this lane.
    pub cursor: LaneKey,
    /// The version when a lane that may run was last left out.
    pub missed: u64,
    /// Which openings of gates matter to lanes that were left out.
    pub blockers: u64,
    /// All was searched in vain when the version was one less; 0: never.
    pub searched: u64,
    /// Of the search that began last.
    pub searcher: u64,
    /// How often a lane was left out since the round began, and in the round before.
    pub left_out: u32,
    pub left_out_before: u32,
}

impl Round {
    /// About how many lanes are outside. One that was left out twice counts twice.
    pub(crate) fn lanes(&self) -> u32 {
        match self.is_active() {
            true => self.left_out.max(self.left_out_before),
            false => 0,
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        self.spilled || self.in_round
    }

    /// Whether a lane was left out that the round does not come to any more.
    pub(crate) fn knows(&self, lane: LaneKey) -> bool {
        self.spilled || self.in_round && lane > self.cursor
    }
}

/// The record of a group (a queue and a tenant), or of a whole queue, that has lanes outside. A queue that has records has
/// one of its own, which is the oldest.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Outside {
    /// Drawn when the record is made; 0: a free slot.
    pub(crate) id: u64,
    pub(crate) queue: u64,
    pub(crate) tenant: u64,
    pub(crate) round: Round,
    /// For a queue: the record that was loaded last.
    pub(crate) hand: u64,
    /// For a queue: one more than the version at which none of its records was worth a search.
    pub(crate) quiet: u64,
    /// For a queue: claims since lanes were loaded.
    pub(crate) claims: u32,
    /// For a queue: the newest of its records.
    pub(crate) newest: u32,
    /// For a queue: its records, without its own.
    pub(crate) groups: u32,
    /// Older and newer records of the same queue.
    pub(crate) older: u32,
    pub(crate) newer: u32,
    /// Older and newer records of all queues.
    pub(crate) older_of_all: u32,
    pub(crate) newer_of_all: u32,
    pub(crate) index_next: u32,
    pub(crate) is_of_queue: bool,
}

impl Outside {
    fn tenant_of_group(&self) -> Option<u64> {
        (!self.is_of_queue).then_some(self.tenant)
    }
}

impl Slot for Outside {
    type Beside = ();
    const CHAIN: u32 = 1;

    fn is_live(&self, _: &()) -> bool {
        self.id != 0
    }
    fn key(&self, _: &()) -> Option<u64> {
        Some(record_key(self.queue, self.tenant_of_group()))
    }
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}

/// The key of a record in the index.
pub(crate) fn record_key(queue: u64, tenant: Option<u64>) -> u64 {
    match tenant {
        Some(tenant) => mix(mix(queue, 3), tenant),
        None => mix(queue, 4),
    }
}

#[cfg(feature = "damage")]
impl Outside {
    pub(crate) fn damage(&mut self, field: u8, value: u64) {
        match field % 12 {
            0 => self.id = value,
            1 => self.queue = value,
            2 => self.tenant = value,
            3 => self.round.spilled = value.is_multiple_of(2),
            4 => self.round.in_round = value.is_multiple_of(2),
            5 => self.newest = value as u32,
            6 => self.groups = value as u32,
            7 => self.older = value as u32,
            8 => self.newer = value as u32,
            9 => self.older_of_all = value as u32,
            10 => self.newer_of_all = value as u32,
            _ => self.is_of_queue = value.is_multiple_of(2),
        }
    }
}

/// What is stored once of lanes that are outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutsideState {
    /// Of lanes for which there is no record.
    pub everything: Round,
    /// The sum of the lanes of all rounds.
    pub lanes: u64,
    /// Claims from all queues since they loaded lanes of a record.
    pub claims: u32,
    /// Claims since lanes of everything were loaded.
    pub claims_on_everything: u32,
    /// The newest record.
    pub newest: u32,
    /// The record that a claim from all queues loaded last.
    pub hand: u64,
    /// The last number that was drawn.
    pub serial: u64,
    /// Records with a number up to this one were forgotten, whatever their slots say.
    pub forgotten: u64,
    /// Grows whenever a lane that is missing may have become able to run.
    pub version: u64,
    /// The version at which a gate last opened for which missing lanes wait.
    pub openings: [u64; OPENINGS],
    /// The stamp at which a lane was last lowered, by the hash of its key. Lanes may share a slot.
    pub lowered: [u64; LOWERED_LANES],
    /// Nothing is known of what was lowered before this stamp.
    pub lowered_since: u64,
    /// Queues for which everything was searched in vain, and one more than the version of that time. Queues may share a
    /// slot.
    pub searched_in_vain: [(u64, u64); SEARCHED_QUEUES],
}

impl Default for OutsideState {
    fn default() -> Self {
        Self {
            everything: Round::default(),
            lanes: 0,
            claims: 0,
            claims_on_everything: 0,
            newest: 0,
            hand: 0,
            serial: 0,
            forgotten: 0,
            version: 0,
            openings: [0; OPENINGS],
            lowered: [0; LOWERED_LANES],
            lowered_since: 0,
            searched_in_vain: [(0, 0); SEARCHED_QUEUES],
        }
    }
}

impl OutsideState {
    /// The state for memory that is emptied.
    pub(crate) fn after(&self, stamp: u64) -> Self {
        Self {
            serial: self.serial.wrapping_add(1),
            forgotten: self.serial.wrapping_add(1),
            version: self.version.wrapping_add(1),
            lowered_since: stamp,
            ..Self::default()
        }
    }

    /// A number that was not drawn before.
    pub(crate) fn draw(&mut self) -> u64 {
        self.serial = self.serial.wrapping_add(1).max(1);
        self.serial
    }

    pub(crate) fn next_version(&mut self) -> u64 {
        self.version = self.version.wrapping_add(1);
        self.version
    }

    /// A gate opens for which missing lanes wait.
    pub(crate) fn note_opening(&mut self, gate: &Gate) {
        let version = self.next_version();
        if let Some(opening) = self.openings.get_mut(opening_of(gate)) {
            *opening = version;
        }
    }

    /// A job of the lane has become available. What was read of the lane before this stamp is outdated.
    pub(crate) fn note_lowered(&mut self, lane: u64, stamp: u64) {
        let place = place_of_key(lane, LOWERED_LANES);
        if let Some(lowered) = self.lowered.get_mut(place) {
            *lowered = stamp;
        }
    }

    pub(crate) fn last_lowered(&self, lane: u64) -> u64 {
        let lowered = self.lowered.get(place_of_key(lane, LOWERED_LANES));
        let lowered = lowered.copied().unwrap_or(u64::MAX);
        lowered.max(self.lowered_since)
    }
}

/// Where the openings of a gate are noted.
pub(crate) fn opening_of(gate: &Gate) -> usize {
    place_of_key(mix(gate.key, gate.kind as u64), OPENINGS)
}

pub(crate) fn place_of_key(key: u64, places: usize) -> usize {
    usize::try_from(key % places as u64).unwrap_or(0)
}
