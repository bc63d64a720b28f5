//! The leases of each queue.
//!
//! 1. For each committed run, memory has an entry whose time is no later than the end of its lease, or it says that it does not know
//!    all ("outside") and when the first of those ends.
//! 2. An entry may be of a run that has ended: a search that looks at its row forgets it then.
//!
//! So a time is a lower bound, as a head is: memory need not hear of a heartbeat that makes a lease longer. A run without a lease has
//! an entry whose time never comes: what runs in a queue is found here.
//!
//! A search takes what is due, which moves each entry on to a time at which others may look again. So nothing has to be put
//! back if the search fails. When it has read the row, it says what it has found ([`Scheduler::settle_lease`]). That does not count if
//! another transaction has noted something since.

use crate::memory::due::DueQueue;
use crate::memory::lease::{Lease, RunId};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};
use crate::times::NEVER;

/// What is known of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseView {
    pub queue: u64,
    pub run: RunId,
    pub time: i64,
}

impl Scheduler<'_> {
    fn find_lease(&self, run: RunId) -> Step<Option<u32>> {
        self.leases.find(run.key(), |_, each| each.run() == run)
    }

    /// A run of the queue has a lease that ends then.
    pub fn note_lease(&mut self, queue: u64, run: RunId, time: i64) -> Step<()> {
        let Some(at) = self.find_lease(run)? else {
            return self.add_lease(queue, run, time);
        };
        let known = *self.leases.get(at)?;
        if self.due.get(known.queue)?.key != queue {
            self.forget_lease(run)?;
            return self.add_lease(queue, run, time.min(known.time));
        }
        if time < known.time {
            self.move_lease(at, time)?;
        }
        self.leases.get_mut(at)?.is_noted = true;
        Ok(())
    }

    /// A run has ended.
    pub fn forget_lease(&mut self, run: RunId) -> Step<()> {
        let Some(at) = self.find_lease(run)? else {
            return Ok(());
        };
        let queue = self.leases.get(at)?.queue;
        self.take_out_lease(at)?;
        self.leases.remove(at, Some(run.key()))?;
        self.drop_if_idle(queue)
    }

    /// Begins a search: adds up to `most` runs of the queue that are due by `by` to `taken`. Until the search has looked at them, they
    /// are due again `again`, which is later than that.
    pub fn take_leases(
        &mut self,
        queue: u64,
        by: i64,
        again: i64,
        most: usize,
        taken: &mut Vec<RunId>,
    ) -> Step<()> {
        let Some(queue) = self.find_due(queue)? else {
            return Ok(());
        };
        for _ in 0..most {
            let first = self.due.get(queue)?.leases;
            if first == NONE || self.leases.get(first)?.time > by {
                break;
            }
            taken.push(self.leases.get(first)?.run());
            self.move_lease(first, again)?;
            self.leases.get_mut(first)?.is_noted = false;
        }
        Ok(())
    }

    /// A search that has taken the run, due `again`, has found it in this queue, due at this time; none: it has ended.
    pub fn settle_lease(&mut self, run: RunId, again: i64, found: Option<(u64, i64)>) -> Step<()> {
        let Some(at) = self.find_lease(run)? else {
            return Ok(());
        };
        let known = *self.leases.get(at)?;
        let is_taken = known.time == again && !known.is_noted;
        if !is_taken && !armed(Seeded::PassNotedLease) {
            return Ok(());
        }
        match found {
            Some((queue, time)) if self.due.get(known.queue)?.key == queue => {
                self.move_lease(at, time)
            }
            Some((queue, time)) => {
                self.forget_lease(run)?;
                self.add_lease(queue, run, time)
            }
            None => self.forget_lease(run),
        }
    }

    /// When the first lease ends that has no entry.
    pub fn leases_outside(&self) -> i64 {
        match self.header.due.has_leases_outside {
            true => self.header.due.leases_outside,
            false => NEVER,
        }
    }

    /// The leases without an entry are about to be read from the tables.
    pub fn take_leases_outside(&mut self) {
        self.header.due.has_leases_outside = false;
    }

    /// A lease without an entry ends then.
    pub fn note_lease_outside(&mut self, time: i64) {
        if time < NEVER {
            self.header.due.leases_outside = self.leases_outside().min(time);
            self.header.due.has_leases_outside = true;
        }
    }

    /// Whether any lease more finds room.
    pub fn has_room_for_lease(&self) -> bool {
        self.leases.left() > 0 && self.due.left() > 0
    }

    pub fn has_lease(&self, run: RunId) -> Step<bool> {
        Ok(self.find_lease(run)?.is_some())
    }

    /// Slots to ask [`Self::lease_at`] for.
    pub fn lease_slots(&self) -> std::ops::RangeInclusive<u32> {
        self.leases.touched()
    }

    pub fn lease_at(&self, slot: u32) -> Step<Option<LeaseView>> {
        let lease = self.leases.get(slot)?;
        if lease.queue == NONE {
            return Ok(None);
        }
        Ok(Some(LeaseView {
            queue: self.due.get(lease.queue)?.key,
            run: lease.run(),
            time: lease.time,
        }))
    }

    /// Up to `most` runs of the queue.
    pub fn running_in(&self, queue: u64, most: usize) -> Step<Vec<RunId>> {
        let mut found = Vec::new();
        let first = match self.find_due(queue)? {
            Some(at) => self.due.get(at)?.leases,
            None => NONE,
        };
        let mut ahead = vec![first];
        while let Some(at) = ahead.pop() {
            if at == NONE || found.len() >= most {
                continue;
            }
            let lease = self.leases.get(at)?;
            found.push(lease.run());
            ahead.extend([lease.right, lease.left]);
        }
        Ok(found)
    }

    /// Up to `most` runs of any queue.
    pub fn running_anywhere(&self, most: usize) -> Step<Vec<RunId>> {
        let leases = self.lease_slots().map(|slot| self.lease_at(slot));
        let running = leases.filter_map(|lease| lease.map(|it| Some(it?.run)).transpose());
        running.take(most).collect()
    }

    fn add_lease(&mut self, queue: u64, run: RunId, time: i64) -> Step<()> {
        let Some(queue) = self.queue_of_lease(queue)? else {
            self.note_lease_outside(time);
            return Ok(());
        };
        let lease = Lease {
            job: run.job,
            time,
            attempt: run.attempt,
            queue,
            is_noted: true,
            ..Lease::default()
        };
        match self.leases.insert(lease, Some(run.key())) {
            Ok(at) => self.push_lease(at),
            Err(Fault::Full) => {
                if !armed(Seeded::ForgetLeaseOutside) {
                    self.note_lease_outside(time);
                }
                self.drop_if_idle(queue)
            }
            Err(fault) => Err(fault),
        }
    }

    /// The slot of a queue. One without times gets one: a lease comes.
    fn queue_of_lease(&mut self, key: u64) -> Step<Option<u32>> {
        if let Some(at) = self.find_due(key)? {
            return Ok(Some(at));
        }
        let queue = DueQueue {
            key,
            ..DueQueue::default()
        };
        match self.due.insert(queue, Some(key)) {
            Ok(at) => {
                self.add_to_order(at)?;
                Ok(Some(at))
            }
            Err(Fault::Full) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn move_lease(&mut self, at: u32, time: i64) -> Step<()> {
        if self.leases.get(at)?.time == time {
            return Ok(());
        }
        self.take_out_lease(at)?;
        self.leases.get_mut(at)?.time = time;
        self.push_lease(at)
    }
}
