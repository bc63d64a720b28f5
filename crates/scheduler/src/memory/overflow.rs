//! The state of the overflow: what is known of lanes that are in the tables but not in memory. See `lanes::overflow`.

pub(crate) const HEARD: usize = 256;
pub(crate) const BARREN: usize = 16;

/// What there is to know of lanes that the memory does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    /// Some lanes with work found no slot since the round began.
    pub(crate) spilled: bool,
    pub(crate) in_round: bool,
    /// Rounds so far.
    pub(crate) round: u64,
    /// The slot of the lane that was evicted last.
    pub(crate) clock_hand: u32,
    /// The key behind which the round goes on.
    pub(crate) cursor: i64,
    /// When a job of a lane was last heard of, by the lane's key; lanes may share a place.
    pub(crate) heard: [u64; HEARD],
    /// Nothing is known of what was heard before.
    pub(crate) heard_since: u64,
    /// Changes whenever what is missing may have become able to run.
    pub(crate) chances: u64,
    /// Queues that were searched in vain, and the chances that there were; queues may share a place.
    pub(crate) barren: [(u64, u64); BARREN],
}

impl Default for Outside {
    fn default() -> Self {
        Self {
            spilled: false,
            in_round: false,
            round: 0,
            clock_hand: 0,
            cursor: i64::MIN,
            heard: [0; HEARD],
            heard_since: 0,
            chances: 1,
            barren: [(0, 0); BARREN],
        }
    }
}

impl Outside {
    /// For memory that begins anew.
    pub(crate) fn after(&self, stamp: u64) -> Self {
        Self {
            round: self.round.wrapping_add(1),
            heard_since: stamp,
            chances: self.chances.wrapping_add(1),
            ..Self::default()
        }
    }
}

pub(crate) fn place_of_key(key: u64, places: usize) -> usize {
    usize::try_from(key % places as u64).unwrap_or(0)
}
