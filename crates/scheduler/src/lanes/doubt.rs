//! Lanes that may have become empty without a claim, which would have noticed it. They are counted until they are looked at.

use crate::memory::entry::Kind;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, Step};
use crate::testing::faults::{Seeded, armed};

impl Scheduler<'_> {
    /// How many lanes there are of which jobs have gone otherwise than by claims, and that were not looked at since.
    pub fn doubtful_lanes(&self) -> u32 {
        self.header.doubts.lanes
    }

    pub(crate) fn doubt(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry_mut(lane)?;
        if !entry.is_doubtful() && !armed(Seeded::TrustWithdrawnLane) {
            entry.set_doubtful(true);
            self.header.doubts.lanes = self.header.doubts.lanes.saturating_add(1);
        }
        Ok(())
    }

    pub(crate) fn end_doubt(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry_mut(lane)?;
        if entry.is_doubtful() {
            entry.set_doubtful(false);
            let left = self.header.doubts.lanes.checked_sub(1);
            self.header.doubts.lanes =
                left.ok_or(Fault::Corrupt("more lanes are doubtful than were counted"))?;
        }
        Ok(())
    }

    pub(crate) fn audit_doubts(&self) -> Step<()> {
        let mut doubtful = 0;
        for at in self.lanes.touched() {
            let entry = self.entry(at)?;
            doubtful += u32::from(entry.kind == Kind::Lane && entry.is_doubtful());
        }
        match doubtful == self.header.doubts.lanes {
            true => Ok(()),
            false => Err(Fault::Corrupt("the number of doubtful lanes is wrong")),
        }
    }
}
