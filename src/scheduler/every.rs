//! Claims from all queues at once. Queues with lanes are chained; a pick looks at each of them.

use crate::{Fault, NONE, Rank, Scheduler, Step};

/// Stands for all queues: no queue has this key.
pub const EVERY_QUEUE: u64 = 0;

impl Scheduler<'_> {
    /// Where a claim finds the next job: the queue itself, or of all queues the one whose next job comes first.
    /// None if nothing of it may run.
    pub(crate) fn best_queue(&self, queue: u64) -> Step<Option<u32>> {
        if queue != EVERY_QUEUE {
            let found = self.find_queue(queue)?;
            return match found {
                Some(at) => Ok(self.next_of_queue(at)?.map(|_| at)),
                None => Ok(None),
            };
        }
        let mut best: Option<(Rank, u32)> = None;
        self.for_each_queue(|at| {
            let rank = self.next_of_queue(at)?;
            let better = rank.filter(|rank| best.is_none_or(|(other, _)| *rank < other));
            best = better.map(|rank| (rank, at)).or(best);
            Ok(())
        })?;
        Ok(best.map(|(_, at)| at))
    }

    /// The least rank that jobs of other queues may have.
    pub(crate) fn best_of_other_queues(&self, queue: u32) -> Step<Option<Rank>> {
        let mut best: Option<Rank> = None;
        self.for_each_queue(|at| {
            if at != queue {
                best = best.into_iter().chain(self.next_of_queue(at)?).min();
            }
            Ok(())
        })?;
        Ok(best)
    }

    /// The rank of the queue's first lane, which is what jobs of different queues are compared by.
    fn next_of_queue(&self, at: u32) -> Step<Option<Rank>> {
        let queue = self.entry(at)?;
        if queue.root == NONE || !self.gate_is_open(queue.gate)? {
            return Ok(None);
        }
        let (_, lane) = self.first_unit(at)?;
        Ok(Some(self.entry(lane)?.rank))
    }

    fn for_each_queue(&self, mut visit: impl FnMut(u32) -> Step<()>) -> Step<()> {
        let mut at = self.header.first_queue;
        for _ in 0..self.entries.slots.len() {
            if at == NONE {
                return Ok(());
            }
            visit(at)?;
            at = self.entry(at)?.queue_next;
        }
        Err(Fault::Corrupt("the chain of queues does not end"))
    }

    pub(crate) fn link_queue(&mut self, at: u32) -> Step<()> {
        let next = std::mem::replace(&mut self.header.first_queue, at);
        if next != NONE {
            self.entry_mut(next)?.queue_prev = at;
        }
        self.entry_mut(at)?.queue_next = next;
        Ok(())
    }

    pub(crate) fn unlink_queue(&mut self, at: u32) -> Step<()> {
        let (prev, next) = {
            let entry = self.entry(at)?;
            (entry.queue_prev, entry.queue_next)
        };
        match prev {
            NONE => self.header.first_queue = next,
            prev => self.entry_mut(prev)?.queue_next = next,
        }
        if next != NONE {
            self.entry_mut(next)?.queue_prev = prev;
        }
        Ok(())
    }

    /// Checks that the chain holds as many queues as there are, each linked both ways.
    pub(crate) fn audit_queues(&self, queues: u32) -> Step<()> {
        let (mut count, mut before) = (0, NONE);
        self.for_each_queue(|at| {
            let is_linked = self.entry(at)?.queue_prev == before;
            (count, before) = (count + 1, at);
            match is_linked {
                true => Ok(()),
                false => Err(Fault::Corrupt("a queue's link is one-sided")),
            }
        })?;
        match count == queues {
            true => Ok(()),
            false => Err(Fault::Corrupt("a queue is not in the chain of queues")),
        }
    }
}
