//! How many slots each array has, for a number of lanes.

/// How many slots each array has, all derived from the number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    pub lanes: usize,
    pub nodes: usize,
    /// There are as many meters: a bucket that had to be forgotten would begin empty again, and a slow one
    /// would never fill.
    pub gates: usize,
    pub reservations: usize,
    /// Tenants whose starts are counted, by queue and level.
    pub shares: usize,
    /// Positions whose time of drawing is known.
    pub samples: usize,
}

impl Capacity {
    /// A lane commonly has at most two nodes of its own (session and account). Gates outlive their lanes
    /// while jobs run.
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

    /// Commonly half of the nodes and gates are in use, and some nodes need no index. So chains have about
    /// two entries.
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
