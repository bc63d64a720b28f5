//! The state of the overflow: what is known of lanes that are in the tables but not in memory. See `lanes::overflow`.

pub(crate) const LOWERED_LANES: usize = 256;
pub(crate) const SEARCHED_QUEUES: usize = 16;

/// What is known of lanes that memory does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overflow {
    /// A lane with work has found no slot since the round began.
    pub(crate) spilled: bool,
    pub(crate) in_round: bool,
    /// Rounds so far.
    pub(crate) round: u64,
    /// The slot of the lane that was evicted last.
    pub(crate) clock_hand: u32,
    /// The round goes on after this key.
    pub(crate) cursor: i64,
    /// The stamp at which a lane was last lowered, by the hash of its key. Lanes may share a slot.
    pub(crate) lowered: [u64; LOWERED_LANES],
    /// Nothing is known of what was lowered before this stamp.
    pub(crate) lowered_since: u64,
    /// Changes whenever a lane that is missing may have become able to run.
    pub(crate) runnable_version: u64,
    /// Queues that were searched in vain, with the `runnable_version` of that time. Queues may share a slot.
    pub(crate) searched_in_vain: [(u64, u64); SEARCHED_QUEUES],
}

impl Default for Overflow {
    fn default() -> Self {
        Self {
            spilled: false,
            in_round: false,
            round: 0,
            clock_hand: 0,
            cursor: i64::MIN,
            lowered: [0; LOWERED_LANES],
            lowered_since: 0,
            runnable_version: 1,
            searched_in_vain: [(0, 0); SEARCHED_QUEUES],
        }
    }
}

impl Overflow {
    /// The state for memory that is emptied.
    pub(crate) fn after(&self, stamp: u64) -> Self {
        Self {
            round: self.round.wrapping_add(1),
            lowered_since: stamp,
            runnable_version: self.runnable_version.wrapping_add(1),
            ..Self::default()
        }
    }
}

pub(crate) fn place_of_key(key: u64, places: usize) -> usize {
    usize::try_from(key % places as u64).unwrap_or(0)
}
