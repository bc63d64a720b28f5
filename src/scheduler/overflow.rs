//! More lanes than slots: some lanes with work are known to the tables only.

use crate::{Kind, Scheduler, Step};

impl Scheduler<'_> {
    /// Whether a lane with work may be missing.
    pub fn is_spilled(&self) -> bool {
        self.header.spilled
    }

    /// Whether a lane is in memory.
    pub fn knows(&self, lane: u64) -> Step<bool> {
        Ok(self.find_entry(Kind::Lane, lane)?.is_some())
    }

    /// All lanes of the tables are about to be offered: from here on only what finds no room counts.
    pub fn forget_spill(&mut self) {
        self.header.spilled = false;
    }

    /// Lanes that can still be made.
    pub fn free_lanes(&self) -> u32 {
        self.max_lanes.saturating_sub(self.header.lanes)
    }

    /// Forgets up to `count` lanes, each in its turn, so that others find room.
    pub fn evict(&mut self, count: u32) -> Step<()> {
        let slots = *self.entries.touched().end();
        let mut left = count;
        for _ in 0..slots {
            if left == 0 {
                break;
            }
            self.header.hand = self.header.hand % slots + 1;
            if self.entry(self.header.hand)?.kind == Kind::Lane {
                self.free_lane(self.header.hand)?;
                self.header.spilled = true;
                left -= 1;
            }
        }
        Ok(())
    }
}
