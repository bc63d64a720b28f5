//! Lanes to look at in the tables although no claim reaches them, because they may be empty: see `lanes::doubt`. What is behind a
//! closed gate may be, too, as a claim that takes the last jobs of a lane need not see that they are the last.

use crate::claim::pick::Picked;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};

/// Looking whether a lane is behind a closed gate costs so many times as much as passing over it.
const COST_OF_GATES: u32 = 8;

/// Which lanes to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToLookAt {
    Doubtful,
    DoubtfulOrHeldUp,
}

/// What is left of a search.
#[derive(Clone, Copy, Debug)]
pub struct LooksLeft {
    /// What it may cost.
    pub effort: u32,
    /// Slots: none is looked at twice, as nothing was settled meanwhile.
    pub slots: u32,
}

impl Scheduler<'_> {
    pub fn begin_looks(&self, effort: u32) -> LooksLeft {
        let slots = *self.lanes.touched().end();
        LooksLeft { effort, slots }
    }

    /// The next lane to look at, as if a claim had picked it to look only. The caller tells [`Self::settle`] what was seen.
    pub fn next_to_look_at(
        &mut self,
        which: ToLookAt,
        left: &mut LooksLeft,
    ) -> Step<Option<Picked>> {
        let last = *self.lanes.touched().end();
        while left.effort > 0 && left.slots > 0 && last > 0 {
            let hand = self.header.doubts.hand;
            let lane = if hand < last { hand + 1 } else { 1 };
            self.header.doubts.hand = lane;
            left.effort -= 1;
            left.slots -= 1;
            if self.is_lane(lane)? && self.may_be_empty(lane, which, &mut left.effort)? {
                self.end_doubt(lane)?;
                self.mark_unverified(lane)?;
                return self.only_looked_at(lane).map(Some);
            }
        }
        Ok(None)
    }

    fn may_be_empty(&self, lane: u32, which: ToLookAt, effort: &mut u32) -> Step<bool> {
        let entry = self.entry(lane)?;
        if entry.is_doubtful() || entry.is_verified() || which == ToLookAt::Doubtful {
            return Ok(entry.is_doubtful());
        }
        *effort = effort.saturating_sub(COST_OF_GATES);
        for gate in self.gates_of(&self.path_of(lane)?)? {
            if gate != NONE && !self.gate_is_open(gate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn only_looked_at(&self, lane: u32) -> Step<Picked> {
        let entry = self.entry(lane)?;
        Ok(Picked {
            spec: self.spec_of(lane)?,
            head: entry.head,
            bound: None,
            due: 0,
            level: entry.level,
            tag: 0,
            reserved: 0,
            is_only_looked_at: true,
            settings_of: 0,
            now: self.header.clock.now,
            is_metered: false,
            lane,
            stamp: self.lane(lane)?.stamp,
        })
    }
}
