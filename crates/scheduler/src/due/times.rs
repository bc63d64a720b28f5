//! The times of each queue. The floor of what was put off is a lower bound, as heads are: what lies before it need not be walked again.
//!
//! A process that promotes takes the floor of the queue, and puts back what it leaves to others. Meanwhile no
//! other process does the same for this queue, except for what is noted meanwhile. Where no slot is left, a queue is among
//! "the others": all that is known of them is when the first falls due.

use crate::memory::due::DueQueue;
use crate::memory::lane::EVERY_QUEUE;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, Step};
use crate::testing::faults::{Seeded, armed};
use crate::times::NEVER;

/// What is known of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueView {
    pub queue: u64,
    /// No job that was put off comes before this; none while a process promotes.
    pub due_floor: Option<[i64; 2]>,
    /// When the first of its leases is due.
    pub next_lease: i64,
}

impl Scheduler<'_> {
    pub(crate) fn find_due(&self, queue: u64) -> Step<Option<u32>> {
        self.due.find(queue, |_, each| each.key == queue)
    }

    /// A job of the queue was put off until then.
    pub fn note_due(&mut self, queue: u64, time: i64) -> Step<()> {
        self.put_back_due(queue, [time, i64::MIN], time)
    }

    /// A promotion leaves the jobs from `floor` on to the next one, which is due at `next`.
    pub fn put_back_due(&mut self, queue: u64, floor: [i64; 2], next: i64) -> Step<()> {
        self.change_due(queue, next, |known| {
            known.due_floor = known.due_floor.min(floor);
            known.next_due = known.next_due.min(next);
        })
    }

    /// Begins a promotion. A queue without a slot has no floor.
    pub fn take_due(&mut self, queue: u64) -> Step<[i64; 2]> {
        let Some(at) = self.find_due(queue)? else {
            return Ok([i64::MIN; 2]);
        };
        let known = self.due.get_mut(at)?;
        let floor = std::mem::replace(&mut known.due_floor, [NEVER; 2]);
        known.next_due = NEVER;
        known.promotions = known.promotions.saturating_add(1);
        self.restore_order(at)?;
        Ok(floor)
    }

    pub fn end_promotion(&mut self, queue: u64) -> Step<()> {
        self.change_known(queue, |known| {
            known.promotions = known.promotions.saturating_sub(1);
        })
    }

    /// When the first queue falls due, those without a slot included.
    pub fn next_due(&self) -> i64 {
        let first = self.due_at(1).map_or(NEVER, |(_, time)| time);
        first.min(self.others_due())
    }

    /// When the first queue without a slot falls due.
    pub fn others_due(&self) -> i64 {
        match self.header.due.has_others {
            true => self.header.due.others,
            false => NEVER,
        }
    }

    /// The queues without a slot are about to be read from the tables.
    pub fn take_others(&mut self) {
        self.header.due.has_others = false;
    }

    /// A queue without a slot falls due then.
    pub fn note_others(&mut self, time: i64) {
        self.header.due.others = self.others_due().min(time);
        self.header.due.has_others = true;
    }

    /// When a queue has to promote, and when it has to search. A queue without a slot promotes when the first of those does; it has no
    /// lease that memory knows of.
    pub fn times_of(&self, queue: u64) -> Step<(i64, i64)> {
        Ok(match self.find_due(queue)? {
            Some(at) => {
                let known = self.due.get(at)?;
                (known.next_due, known.next_lease)
            }
            None => (self.others_due(), NEVER),
        })
    }

    /// The queue with a slot that falls due first, if it has by now.
    pub fn first_due(&self, now: i64) -> Step<Option<u64>> {
        match self.due_at(1) {
            Ok((at, time)) if time <= now => Ok(Some(self.due.get(at)?.key)),
            _ => Ok(None),
        }
    }

    /// When a queue with a slot, or the first of all, falls due. A process that waits for a queue without a slot is woken by
    /// what another one promotes.
    pub fn wakes_at(&self, queue: u64) -> i64 {
        if queue == EVERY_QUEUE {
            return self.due_at(1).map_or(NEVER, |(_, time)| time);
        }
        let slot = self.find_due(queue).ok().flatten();
        let known = slot.and_then(|at| self.due.get(at).ok());
        known.map_or(NEVER, DueQueue::time)
    }

    pub fn has_times(&self, queue: u64) -> Step<bool> {
        Ok(self.find_due(queue)?.is_some())
    }

    /// What is known of each queue with a slot.
    pub fn due_queues(&self) -> impl Iterator<Item = DueView> + '_ {
        let each = (1..=self.header.due.count).map_while(|place| {
            let (at, _) = self.due_at(place).ok()?;
            self.due.get(at).ok()
        });
        each.map(|known| DueView {
            queue: known.key,
            due_floor: (known.promotions == 0).then_some(known.due_floor),
            next_lease: known.next_lease,
        })
    }

    pub(crate) fn forget_due(&mut self) {
        self.due.clear();
        self.leases.clear();
        self.header.due = Default::default();
    }

    /// Changes what is known of a queue, which may have no slot yet.
    fn change_due(
        &mut self,
        queue: u64,
        next: i64,
        change: impl FnOnce(&mut DueQueue),
    ) -> Step<()> {
        if queue == EVERY_QUEUE {
            self.note_others(next);
            return Ok(());
        }
        if let Some(at) = self.find_due(queue)? {
            change(self.due.get_mut(at)?);
            self.restore_order(at)?;
            return self.drop_if_idle(at);
        }
        let mut known = DueQueue {
            key: queue,
            ..DueQueue::default()
        };
        change(&mut known);
        if known.is_idle() {
            return Ok(());
        }
        match self.due.insert(known, Some(queue)) {
            Ok(at) => self.add_to_order(at),
            Err(Fault::Full) if armed(Seeded::ForgetOthers) => Ok(()),
            Err(Fault::Full) => {
                self.note_others(next);
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }

    fn change_known(&mut self, queue: u64, change: impl FnOnce(&mut DueQueue)) -> Step<()> {
        let Some(at) = self.find_due(queue)? else {
            return Ok(());
        };
        change(self.due.get_mut(at)?);
        self.drop_if_idle(at)
    }

    pub(crate) fn drop_if_idle(&mut self, at: u32) -> Step<()> {
        let known = *self.due.get(at)?;
        if !known.is_idle() {
            return Ok(());
        }
        self.remove_from_order(at)?;
        self.due.remove(at, Some(known.key))
    }
}
