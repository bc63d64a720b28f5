//! Moves entries whose rank has changed: because the head of a lane moved, or because settings or dates did.

use crate::memory::entry::Kind;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

impl Scheduler<'_> {
    /// The job at the lane's head may be gone.
    pub(crate) fn mark_unverified(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry(lane)?;
        match entry.is_verified() && self.lane(lane)?.session != NONE {
            true => self.move_head(lane, entry.head, false),
            false => Ok(()),
        }
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

    /// Ranks the tenants and key groups of some queues again: the policy of a queue has changed, or all tags
    /// have.
    pub(crate) fn rerank(&mut self, is_queue: impl Fn(u32) -> bool) -> Step<()> {
        for kind in [Kind::KeyGroup, Kind::Tenant] {
            for at in self.touched_nodes() {
                let entry = self.entry(at)?;
                if entry.kind != kind || !entry.is_placed() {
                    continue;
                }
                if is_queue(self.entry(self.tenant_of(at)?)?.home) {
                    self.update_place(at)?;
                }
            }
        }
        Ok(())
    }

    /// Computes levels again: the interval of a queue has changed, or the dates of all positions.
    pub(crate) fn recompute_levels(&mut self, queue: Option<u32>) -> Step<()> {
        for lane in self.lanes.touched() {
            if !self.is_lane(lane)? {
                continue;
            }
            let is_meant = match queue {
                Some(queue) => self.queue_of(lane)? == queue,
                None => true,
            };
            if is_meant {
                let entry = self.entry(lane)?;
                self.move_head(lane, entry.head, entry.is_verified())?;
            }
        }
        Ok(())
    }
}
