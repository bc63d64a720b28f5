//! The order of queues, for claims from all of them.
//!
//! A queue is in the heap of a node above it exactly while its gate is open and its own heap is not empty. Its rank there
//! is at or before that of the lane that is next in the queue:
//!
//! * It is the rank of the queue's first lane, without the tag. What a descent moves out of its way can only be followed by
//!   lanes that rank later.
//! * That is not so among the tenants of a fair queue, where a lane that was behind by its tag may have a lesser head.
//!   So a fair queue has the least head of all while its first lane is not next, and a descent has to find out. Every
//!   step that may change this looks at it again, also one that changes no rank: a gate opens, closes, or has to be
//!   read, or the tag of a tenant changes.
//!
//! How queues compare changes as time goes by only where their jobs age at different speeds. So there is a node for each
//! interval, and a pick compares the first queue of each. Queues whose settings are unread have a node of
//! their own: they are read before any are compared.

use crate::memory::entry::Kind;
use crate::memory::gate::Limit;
use crate::memory::node::Node;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::order::rank::Rank;
use crate::testing::faults::{Seeded, armed};

const CHAIN: Fault = Fault::Corrupt("the chain of nodes above queues does not end");
const TOO_FEW: Fault = Fault::Corrupt("fewer queues are counted than there are");

/// Nodes that are kept free for the intervals of queues whose settings are read later.
const SPARE_NODES: usize = 32;

impl Scheduler<'_> {
    /// Moves a queue to where it belongs, and notes of a fair queue whether its first lane is next.
    pub(crate) fn update_queue(&mut self, queue: u32) -> Step<()> {
        let was_next = self.entry(queue)?.is_verified();
        let is_next = self.is_fair(queue)? && self.is_first_next(queue)?;
        if is_next != was_next && !(was_next && armed(Seeded::TrustOldNext)) {
            self.entry_mut(queue)?.set_verified(is_next);
        }
        self.move_queue(queue)
    }

    /// Something below a queue has changed, or can be reached no more or again, and changes no rank.
    pub(crate) fn review_queue_of(&mut self, at: u32) -> Step<()> {
        let queue = match self.entry(at)?.kind {
            Kind::Concurrency => self.entry(at)?.home,
            _ => self.queue_of(at)?,
        };
        match self.is_fair(queue)? {
            true => self.update_queue(queue),
            false => Ok(()),
        }
    }

    fn move_queue(&mut self, queue: u32) -> Step<()> {
        let (old_place, place) = (self.place(queue)?, self.desired_place(queue)?);
        let rank = self.desired_rank(queue, place)?;
        if place == old_place && (place == NONE || rank == self.rank(queue)?) {
            return Ok(());
        }
        if old_place != NONE && place != NONE && armed(Seeded::KeepQueueRank) {
            return Ok(());
        }
        if old_place != NONE {
            self.heap_remove(queue)?;
        }
        if place == NONE {
            return Ok(());
        }
        self.set_rank(queue, rank)?;
        self.heap_push(place, queue)
    }

    /// The rank of a queue, from that of its best member.
    pub(crate) fn rank_of_queue(&self, queue: u32, first: Rank) -> Step<Rank> {
        let is_in_doubt = self.is_fair(queue)? && !self.entry(queue)?.is_verified();
        Ok(Rank {
            level: first.level,
            tag: 0,
            head: if is_in_doubt { i64::MIN } else { first.head },
        })
    }

    /// How the node above the queue of a gate is known: by its kind, and by the interval in which jobs age.
    fn top_for(&self, gate: u32) -> Step<(Kind, u32)> {
        let is_unread = self.gate(gate)?.limit() == Limit::Unknown;
        match is_unread && !armed(Seeded::CompareUnreadQueues) {
            true => Ok((Kind::Unread, 0)),
            false => Ok((Kind::Aging, self.aging_behind(gate)?)),
        }
    }

    /// The settings of a queue were read, or have to be.
    pub(crate) fn update_top(&mut self, queue: u32) -> Step<()> {
        let (kind, interval) = self.top_for(self.node(queue)?.gate)?;
        let old = self.entry(queue)?.home;
        let top = self.entry(old)?;
        if (top.kind, top.home) == (kind, interval) {
            return self.update_queue(queue);
        }
        let new = self.find_or_make_node(kind, NONE, interval)?;
        if self.entry(queue)?.is_placed() {
            self.heap_remove(queue)?;
        }
        self.entry_mut(queue)?.home = new;
        self.add_node_reference(new, NONE)?;
        self.drop_node_reference(old)?;
        self.update_queue(queue)
    }

    pub(crate) fn add_queue(&mut self, queue: u32) -> Step<()> {
        self.header.queues.count = self.header.queues.count.saturating_add(1);
        let (kind, interval) = self.top_for(self.node(queue)?.gate)?;
        let top = self.find_or_make_node(kind, NONE, interval)?;
        self.entry_mut(queue)?.home = top;
        self.add_node_reference(top, NONE)
    }

    pub(crate) fn remove_queue(&mut self, queue: u32) -> Step<()> {
        let count = self.header.queues.count.checked_sub(1);
        self.header.queues.count = count.ok_or(TOO_FEW)?;
        self.drop_node_reference(self.entry(queue)?.home)
    }

    /// Nodes that must be left when a lane is made, so that each queue can have one above it for itself, and one more,
    /// because a queue has left the one above it only when it has another.
    pub(crate) fn spare_nodes(&self) -> usize {
        let queues = self.header.queues;
        let own = (queues.count.saturating_sub(queues.tops) as usize).min(SPARE_NODES);
        own + usize::from(queues.count > 0)
    }

    /// Goes through the nodes above queues.
    pub(crate) fn for_each_top(&self, mut visit: impl FnMut(u32) -> Step<()>) -> Step<()> {
        let mut at = self.header.queues.first_top;
        for _ in 0..self.nodes.slots.len() {
            if at == NONE {
                return Ok(());
            }
            visit(at)?;
            at = self.node(at)?.gate_next;
        }
        Err(CHAIN)
    }

    pub(crate) fn link_top(&mut self, at: u32) -> Step<()> {
        self.header.queues.tops = self.header.queues.tops.saturating_add(1);
        let next = std::mem::replace(&mut self.header.queues.first_top, at);
        if next != NONE {
            self.node_mut(next)?.gate_prev = at;
        }
        self.node_mut(at)?.gate_next = next;
        Ok(())
    }

    pub(crate) fn unlink_top(&mut self, at: u32) -> Step<()> {
        let tops = self.header.queues.tops.checked_sub(1);
        self.header.queues.tops = tops.ok_or(TOO_FEW)?;
        let Node {
            gate_prev: prev,
            gate_next: next,
            ..
        } = *self.node(at)?;
        match prev {
            NONE => self.header.queues.first_top = next,
            prev => self.node_mut(prev)?.gate_next = next,
        }
        if next != NONE {
            self.node_mut(next)?.gate_prev = prev;
        }
        Ok(())
    }

    /// Checks that all queues are below a node of the chain, each below the right one, and that the nodes of
    /// the chain are linked both ways.
    pub(crate) fn audit_queues(&self, queues: u32) -> Step<()> {
        let (mut tops, mut below, mut before) = (0, 0_u32, NONE);
        self.for_each_top(|at| {
            let is_linked = self.node(at)?.gate_prev == before;
            below = below.saturating_add(self.node(at)?.lanes);
            (tops, before) = (tops + 1, at);
            match is_linked {
                true => Ok(()),
                false => Err(Fault::Corrupt(
                    "a link between nodes above queues is one-sided",
                )),
            }
        })?;
        let counted = (self.header.queues.count, self.header.queues.tops);
        match (queues, queues, tops) == (below, counted.0, counted.1) {
            true => Ok(()),
            false => Err(Fault::Corrupt("a queue is not below a node of the chain")),
        }
    }

    pub(crate) fn audit_top(&self, queue: u32) -> Step<()> {
        let top = self.entry(self.entry(queue)?.home)?;
        match (top.kind, top.home) == self.top_for(self.node(queue)?.gate)? {
            true => Ok(()),
            false => Err(Fault::Corrupt("a queue is below the wrong interval")),
        }
    }
}
