//! How many slots each array has, for a number of lanes.

/// How many slots each array has, all derived from the number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub lanes: usize,
    pub nodes: usize,
    /// As many have room for a clockwork: a bucket that had to be forgotten would begin empty again, and a slow
    /// one would never fill.
    pub gates: usize,
    pub reservations: usize,
    /// Starts are counted for so many tenants, by queue and level.
    pub shares: usize,
    /// Positions of which it is known when they were drawn.
    pub samples: usize,
}

impl Capacity {
    /// A lane commonly brings at most two nodes of its own (session, account); gates outlive their
    /// lanes while jobs run.
    pub const fn for_lanes(lanes: usize) -> Self {
        Self {
            lanes,
            nodes: 2 * lanes + 64,
            gates: 2 * lanes + 4_096,
            reservations: lanes / 4 + 16_384,
            shares: lanes / 4 + 4_096,
            samples: 4_096,
        }
    }

    /// Slot 0 of each array stands for "none".
    pub const fn lane_slots(&self) -> usize {
        self.lanes + 1
    }

    pub const fn entries(&self) -> usize {
        self.lane_slots() + self.nodes
    }

    pub const fn lane_buckets(&self) -> usize {
        self.lane_slots()
    }

    /// Commonly half of the nodes and gates are in use, and a part of the nodes needs no index: chains of two.
    pub const fn node_buckets(&self) -> usize {
        self.nodes / 5 + 1
    }

    pub const fn gate_buckets(&self) -> usize {
        self.gates / 4 + 1
    }

    pub const fn meter_buckets(&self) -> usize {
        self.gates / 4 + 1
    }

    pub const fn share_buckets(&self) -> usize {
        self.shares
    }

    pub const fn reservation_buckets(&self) -> usize {
        self.reservations
    }
}
