//! Moves entries whose rank has changed: because the head of a lane moved, or because settings or dates did.

use crate::memory::entry::Kind;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

impl Scheduler<'_> {
    /// The job at the lane's head may be gone.
    pub(crate) fn doubt(&mut self, lane: u32) -> Step<()> {
        let entry = self.entry(lane)?;
        match entry.is_exact() && self.lane(lane)?.session != NONE {
            true => self.move_head(lane, entry.head, false),
            false => Ok(()),
        }
    }

    /// Puts a lane where its new head belongs.
    pub(crate) fn move_head(&mut self, lane: u32, head: i64, is_exact: bool) -> Step<()> {
        let entry = self.entry(lane)?;
        let (old, was_exact) = ((entry.level, entry.head), entry.is_exact());
        let level = self.level_at(lane, head)?;
        if (old, was_exact) == ((level, head), is_exact) {
            return Ok(());
        }
        let place = self.place(lane)?;
        if place == NONE {
            return Err(Fault::Corrupt("a lane has no place"));
        }
        self.heap_remove(lane)?;
        let entry = self.entry_mut(lane)?;
        (entry.level, entry.head) = (level, head);
        entry.set_exact(is_exact);
        self.heap_push(place, lane)?;
        self.settle_place(place)
    }

    /// The policy of a queue has changed, or all tags have.
    pub(crate) fn rank_anew(&mut self, is_queue: impl Fn(u32) -> bool) -> Step<()> {
        for kind in [Kind::Bundle, Kind::Tenant] {
            for at in self.touched_nodes() {
                let entry = self.entry(at)?;
                if entry.kind != kind || !entry.is_placed() {
                    continue;
                }
                if is_queue(self.entry(self.tenant_of(at)?)?.home) {
                    self.settle_place(at)?;
                }
            }
        }
        Ok(())
    }

    /// The interval of a queue has changed, or the dates of all.
    pub(crate) fn level_anew(&mut self, queue: Option<u32>) -> Step<()> {
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
                self.move_head(lane, entry.head, entry.is_exact())?;
            }
        }
        Ok(())
    }
}
