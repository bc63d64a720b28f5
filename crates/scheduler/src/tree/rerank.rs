//! Moves entries whose rank has changed: because the head of a lane moved, or because settings or dates did.

use crate::memory::entry::Kind;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

impl Scheduler<'_> {
    /// The job at the lane's head may be gone.
    pub(crate) fn mark_unverified(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry(lane)?;
        if !entry.is_verified() {
            return Ok(());
        }
        if self.lane(lane)?.session != NONE {
            return self.move_head(lane, entry.head, false);
        }
        // Only sessions go by it.
        self.entry_mut(lane)?.set_verified(false);
        Ok(())
    }

    /// Gives a lane a new head, and moves it to where it belongs.
    pub(crate) fn move_head(&mut self, lane: u32, head: i64, is_verified: bool) -> Step<()> {
        let entry = self.entry(lane)?;
        let (old, was_exact) = ((entry.level, entry.head), entry.is_verified());
        let level = self.level_at(lane, head)?;
        if (old, was_exact) == ((level, head), is_verified) {
            return Ok(());
        }
        let place = self.place(lane)?;
        if place == NONE {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        self.heap_remove(lane)?;
        let entry = self.entry_mut(lane)?;
        (entry.level, entry.head) = (level, head);
        entry.set_verified(is_verified);
        self.heap_push(place, lane)?;
        self.update_place(place)
    }

    /// Ranks all tenants and key groups again: all tags have changed.
    pub(crate) fn rerank_all(&mut self) -> Step<()> {
        for kind in [Kind::KeyGroup, Kind::Tenant] {
            for at in self.touched_nodes() {
                if self.entry(at)?.kind == kind {
                    self.rerank(at)?;
                }
            }
        }
        Ok(())
    }

    /// Ranks the tenants and key groups of a queue again: its policy has changed.
    pub(crate) fn rerank_queue(&mut self, queue: u32) -> Step<()> {
        self.for_each_lane_of(queue, |it, lane| it.rerank(it.path_of(lane)?.key_group))?;
        self.for_each_lane_of(queue, |it, lane| it.rerank(it.path_of(lane)?.tenant))
    }

    fn rerank(&mut self, at: u32) -> Step<()> {
        match at != NONE && self.entry(at)?.is_placed() {
            true => self.update_place(at),
            false => Ok(()),
        }
    }

    /// Computes all levels again: the dates of positions have changed.
    pub(crate) fn recompute_levels(&mut self) -> Step<()> {
        for lane in self.lanes.touched() {
            if self.is_lane(lane)? {
                self.recompute_level(lane)?;
            }
        }
        Ok(())
    }

    /// Computes the levels of a queue again: its interval has changed.
    pub(crate) fn recompute_levels_of(&mut self, queue: u32) -> Step<()> {
        self.for_each_lane_of(queue, Self::recompute_level)
    }

    fn recompute_level(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry(lane)?;
        self.move_head(lane, entry.head, entry.is_verified())
    }
}
