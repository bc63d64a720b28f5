//! Arrays that begin with nothing, grow as they are needed, and shrink at random moments between steps.

use rand::Rng;
use turnstile_scheduler::{Array, Capacity};

use super::arena::At;
use super::rebuild::Trust;
use super::{Checked, World};

/// More than any step takes. Where lanes and nodes are refused, lanes are left to the table.
const MARGIN: Capacity = Capacity {
    lanes: 12,
    nodes: 90,
    gates: 64,
    meters: 16,
    shares: 8,
    reservations: 30,
    due: 30,
    leases: 30,
    samples: 0,
};

/// What a claim needs to find anything that memory lacks.
const LEAST_LANES: usize = 3;
const LEAST_NODES: usize = 70;

/// No slots but those that are never handed out.
pub const NOTHING: Capacity = Capacity {
    lanes: 1,
    nodes: 1,
    gates: 1,
    meters: 1,
    shares: 1,
    reservations: 1,
    due: 1,
    leases: 1,
    samples: 0,
};

impl World {
    /// Others held the lock meanwhile, and the arrays may have another length now.
    pub fn resize_memory(&mut self) -> Checked {
        if !self.shape.elastic {
            return Ok(());
        }
        if self.rng.random_bool(0.005) {
            self.refuses_growth = !self.refuses_growth;
        }
        if self.memory != Trust::Stale && self.rng.random_bool(0.02) {
            self.shrink_memory()?;
        }
        self.grow_memory();
        Ok(())
    }

    fn grow_memory(&mut self) {
        let mut missing = self.arena.scheduler().shortage(&MARGIN);
        if self.refuses_growth {
            missing.lanes = LEAST_LANES.saturating_sub(self.arena.capacity.lanes);
            missing.nodes = LEAST_NODES.saturating_sub(self.arena.capacity.nodes);
        }
        if missing != Capacity::default() {
            self.tally.count("memory grown");
            self.arena.grow(&missing);
        } else if self.refuses_growth {
            self.tally.count("memory refused");
        }
    }

    fn shrink_memory(&mut self) -> Checked {
        for array in Array::ALL {
            if self.rng.random_bool(0.5) {
                self.arena.scheduler().trim(array).at("trim")?;
            }
        }
        let (now, needed) = (self.arena.capacity, self.arena.scheduler().needed());
        let mut any = |array| self.rng.random_range(needed.of(array)..=now.of(array));
        let fewer = Capacity {
            lanes: any(Array::Lanes),
            nodes: any(Array::Nodes),
            gates: any(Array::Gates),
            meters: any(Array::Meters),
            shares: any(Array::Shares),
            reservations: any(Array::Reservations),
            due: any(Array::Due),
            leases: any(Array::Leases),
            samples: now.samples,
        };
        if fewer != now {
            self.tally.count("memory shrunk");
        }
        self.arena.resize(fewer);
        Ok(())
    }
}
