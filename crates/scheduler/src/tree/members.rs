//! The lanes of each queue, wherever they wait: a list, so that what concerns one queue goes to no lanes of others.

use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

const CYCLE: Fault = Fault::Corrupt("the list of a queue's lanes has a cycle");

impl Scheduler<'_> {
    pub(crate) fn list_lane(&mut self, lane: u32, queue: u32) -> Step<()> {
        let next = std::mem::replace(&mut self.node_mut(queue)?.index_next, lane);
        if next != NONE {
            self.lane_mut(next)?.queue_prev = lane;
        }
        self.lane_mut(lane)?.queue_next = next;
        Ok(())
    }

    pub(crate) fn unlist_lane(&mut self, lane: u32, queue: u32) -> Step<()> {
        let gone = *self.lane(lane)?;
        match gone.queue_prev {
            NONE => self.node_mut(queue)?.index_next = gone.queue_next,
            prev => self.lane_mut(prev)?.queue_next = gone.queue_next,
        }
        if gone.queue_next != NONE {
            self.lane_mut(gone.queue_next)?.queue_prev = gone.queue_prev;
        }
        Ok(())
    }

    /// The lane behind another in its queue; after none, the first.
    fn lane_behind(&self, queue: u32, lane: u32) -> Step<u32> {
        Ok(match lane {
            NONE => self.node(queue)?.index_next,
            lane => self.lane(lane)?.queue_next,
        })
    }

    /// Visits the lanes of a queue, none of which may come or go meanwhile.
    pub(crate) fn for_each_lane_of(
        &mut self,
        queue: u32,
        mut visit: impl FnMut(&mut Self, u32) -> Step<()>,
    ) -> Step<()> {
        let mut lane = self.lane_behind(queue, NONE)?;
        for _ in 0..self.lanes.slots.len() {
            if lane == NONE {
                return Ok(());
            }
            visit(self, lane)?;
            lane = self.lane_behind(queue, lane)?;
        }
        Err(CYCLE)
    }

    /// Checks that the list holds each lane of the queue, linked both ways.
    pub(crate) fn audit_members(&self, queue: u32) -> Step<()> {
        let mut before = NONE;
        for _ in 0..self.node(queue)?.lanes {
            let lane = self.lane_behind(queue, before)?;
            if self.lane(lane)?.queue_prev != before || self.queue_of(lane)? != queue {
                return Err(Fault::Corrupt("the list of a queue's lanes is broken"));
            }
            before = lane;
        }
        match self.lane_behind(queue, before)? {
            NONE => Ok(()),
            _ => Err(CYCLE),
        }
    }
}
