//! Claims from all queues at once: a pick looks at each queue that has lanes.

use crate::claim::descend::Found;
use crate::memory::gate::Limit;
use crate::memory::lane::EVERY_QUEUE;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::order::rank::Rank;
use crate::testing::faults::{Seeded, armed};
use crate::tree::queues::CHAIN;
use std::rc::Rc;

impl Scheduler<'_> {
    /// The next lane of all queues: of each queue the one that is next there, and of these the first by level
    /// and position, as of now.
    pub(crate) fn descend_from_all(&mut self) -> Step<Found> {
        let (mut best, mut best_rank) = (Found::Nothing, None);
        let mut queue = self.header.first_queue;
        for _ in 0..self.nodes.slots.len() {
            if queue == NONE {
                return Ok(best);
            }
            if !self.is_meant(queue)? {
                queue = self.node(queue)?.index_next;
                continue;
            }
            if let Some(unread) = self.unread_queue(queue)? {
                return Ok(unread);
            }
            if self.may_come_before(queue, best_rank)? {
                let found = self.descend_from(queue)?;
                let rank = self.rank_among_queues(queue, &found)?;
                if rank.is_some_and(|rank| best_rank.is_none_or(|best| rank < best)) {
                    (best, best_rank) = (found, rank);
                }
            }
            queue = self.node(queue)?.index_next;
        }
        Err(CHAIN)
    }

    /// Until the lock is given back, picks from every queue are about these alone, whose keys are in order.
    pub fn limit_to(&mut self, queues: Rc<[u64]>) {
        self.only = Some(queues);
    }

    /// Whether a pick from every queue is about this one.
    fn is_meant(&self, queue: u32) -> Step<bool> {
        let Some(only) = &self.only else {
            return Ok(true);
        };
        let key = self.gate(self.node(queue)?.gate)?.key;
        Ok(only.binary_search(&key).is_ok())
    }

    /// A queue whose terms have to be read: what its jobs have gained by waiting is not known before.
    fn unread_queue(&self, queue: u32) -> Step<Option<Found>> {
        let node = self.node(queue)?;
        let is_unread = self.gate(node.gate)?.limit() == Limit::Unknown;
        if node.root == NONE || !is_unread || armed(Seeded::CompareUnreadQueues) {
            return Ok(None);
        }
        let (_, lane) = self.first_unit(queue)?;
        let unknown = self.unknown_gates(&self.gates_of(&self.way_of(lane)?)?)?;
        Ok(unknown.map(|gates| Found::Unknown(lane, gates)))
    }

    /// Whether it is worth to look at a queue. What is due in a fair one may come before what is reached first.
    fn may_come_before(&self, queue: u32, best: Option<Rank>) -> Step<bool> {
        let (Some(best), Some(first)) = (best, self.next_of_queue(queue)?) else {
            return Ok(true);
        };
        Ok(match self.is_fair(queue)? {
            true => first.level <= best.level,
            false => first < best,
        })
    }

    /// What a queue's next lane is compared by with those of others. While it is not known which that is in a
    /// fair queue, nothing of the same level may come first.
    fn rank_among_queues(&self, queue: u32, found: &Found) -> Step<Option<Rank>> {
        let Some(lane) = found.lane() else {
            return Ok(None);
        };
        let mut rank = self.rank_now(queue, lane)?;
        if self.is_fair(queue)? && !matches!(found, Found::Lane(_)) {
            rank.head = i64::MIN;
        }
        Ok(Some(rank))
    }

    /// Whether a claim from a queue, or from all of them, has something to look at.
    pub(crate) fn has_next(&self, queue: u64) -> Step<bool> {
        if queue != EVERY_QUEUE {
            return match self.find_queue(queue)? {
                Some(at) => Ok(self.next_of_queue(at)?.is_some()),
                None => Ok(false),
            };
        }
        let mut any = false;
        self.for_each_queue(|at| {
            any |= self.next_of_queue(at)?.is_some();
            Ok(())
        })?;
        Ok(any)
    }

    /// The least rank that jobs of other queues may have.
    pub(crate) fn best_of_other_queues(&self, queue: u32) -> Step<Option<Rank>> {
        let mut best: Option<Rank> = None;
        self.for_each_queue(|at| {
            if at != queue && self.is_meant(at)? {
                best = best.into_iter().chain(self.next_of_queue(at)?).min();
            }
            Ok(())
        })?;
        Ok(best)
    }

    /// The rank of the queue's first lane, which is what jobs of different queues are compared by.
    fn next_of_queue(&self, at: u32) -> Step<Option<Rank>> {
        let queue = self.node(at)?;
        if queue.root == NONE || !self.gate_is_open(queue.gate)? {
            return Ok(None);
        }
        let (_, lane) = self.first_unit(at)?;
        self.rank_now(at, lane).map(Some)
    }

    /// A lane's rank, its level as far as jobs have it that begin to wait now.
    fn rank_now(&self, queue: u32, lane: u32) -> Step<Rank> {
        let rank = self.rank(lane)?;
        let level = rank.level.saturating_sub(self.level_now(queue)?);
        Ok(Rank { level, ..rank })
    }
}
