//! The queues by their next time: a binary heap of their slots, the earliest first.

use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

const NO_PLACE: Fault = Fault::Corrupt("a queue is not in the order of times");

impl Scheduler<'_> {
    /// The slot at a place of the order, from 1, and its time.
    pub(crate) fn due_at(&self, place: u32) -> Step<(u32, i64)> {
        if place == 0 || place > self.header.due.count {
            return Err(NO_PLACE);
        }
        let at = *self.due_order.get(place as usize).ok_or(NO_PLACE)?;
        Ok((at, self.due.get(at)?.time()))
    }

    pub(crate) fn add_to_order(&mut self, at: u32) -> Step<()> {
        self.header.due.count = self.header.due.count.saturating_add(1);
        let last = self.header.due.count;
        self.put_due(last, at)?;
        self.raise_due(last)
    }

    pub(crate) fn remove_from_order(&mut self, at: u32) -> Step<()> {
        let place = self.due.get(at)?.place;
        let last = self.header.due.count;
        let (moved, _) = self.due_at(last)?;
        self.header.due.count = last.saturating_sub(1);
        self.due.get_mut(at)?.place = NONE;
        if place == last {
            return Ok(());
        }
        self.put_due(place, moved)?;
        self.restore_order(moved)
    }

    /// The time of a slot has changed.
    pub(crate) fn restore_order(&mut self, at: u32) -> Step<()> {
        let place = self.due.get(at)?.place;
        self.raise_due(place)?;
        let place = self.due.get(at)?.place;
        self.sink_due(place)
    }

    fn put_due(&mut self, place: u32, at: u32) -> Step<()> {
        *self.due_order.get_mut(place as usize).ok_or(NO_PLACE)? = at;
        self.due.get_mut(at)?.place = place;
        Ok(())
    }

    fn swap_due(&mut self, a: u32, b: u32) -> Step<()> {
        let ((at_a, _), (at_b, _)) = (self.due_at(a)?, self.due_at(b)?);
        self.put_due(a, at_b)?;
        self.put_due(b, at_a)
    }

    fn raise_due(&mut self, from: u32) -> Step<()> {
        let mut place = from;
        while place > 1 && self.due_at(place)?.1 < self.due_at(place / 2)?.1 {
            self.swap_due(place, place / 2)?;
            place /= 2;
        }
        Ok(())
    }

    fn sink_due(&mut self, from: u32) -> Step<()> {
        let mut place = from;
        loop {
            let mut least = place;
            for child in [place.saturating_mul(2), place.saturating_mul(2) | 1] {
                if child <= self.header.due.count && self.due_at(child)?.1 < self.due_at(least)?.1 {
                    least = child;
                }
            }
            if least == place || armed(Seeded::LooseTimes) {
                return Ok(());
            }
            self.swap_due(place, least)?;
            place = least;
        }
    }

    /// Checks that the order holds each queue once, and that each is found by its key.
    pub(crate) fn audit_due(&self) -> Step<()> {
        for place in 1..=self.header.due.count {
            let (at, time) = self.due_at(place)?;
            let queue = self.due.get(at)?;
            if queue.place != place || self.find_due(queue.key)? != Some(at) {
                return Err(NO_PLACE);
            }
            if place > 1 && self.due_at(place / 2)?.1 > time {
                return Err(Fault::Corrupt(
                    "the queues are not in the order of their times",
                ));
            }
            if queue.is_idle() {
                return Err(Fault::Corrupt("a queue without times has a slot"));
            }
        }
        match self.due.pool.live == self.header.due.count {
            true => Ok(()),
            false => Err(NO_PLACE),
        }
    }
}
