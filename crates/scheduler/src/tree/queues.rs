//! The chain of the queues that have lanes.

use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};

pub(crate) const CHAIN: Fault = Fault::Corrupt("the chain of queues does not end");

impl Scheduler<'_> {
    pub(crate) fn for_each_queue(&self, mut visit: impl FnMut(u32) -> Step<()>) -> Step<()> {
        let mut at = self.header.first_queue;
        for _ in 0..self.nodes.slots.len() {
            if at == NONE {
                return Ok(());
            }
            visit(at)?;
            at = self.node(at)?.index_next;
        }
        Err(CHAIN)
    }

    pub(crate) fn link_queue(&mut self, at: u32) -> Step<()> {
        let next = std::mem::replace(&mut self.header.first_queue, at);
        if next != NONE {
            self.entry_mut(next)?.up = at;
        }
        self.node_mut(at)?.index_next = next;
        Ok(())
    }

    pub(crate) fn unlink_queue(&mut self, at: u32) -> Step<()> {
        let (prev, next) = (self.entry(at)?.up, self.node(at)?.index_next);
        match prev {
            NONE => self.header.first_queue = next,
            prev => self.node_mut(prev)?.index_next = next,
        }
        if next != NONE {
            self.entry_mut(next)?.up = prev;
        }
        Ok(())
    }

    /// Checks that the chain holds as many queues as there are, each linked both ways.
    pub(crate) fn audit_queues(&self, queues: u32) -> Step<()> {
        let (mut count, mut before) = (0, NONE);
        self.for_each_queue(|at| {
            let is_linked = self.entry(at)?.up == before;
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
