//! Claims from all queues at once, or from those that a claim is limited to.

use crate::claim::descend::Found;
use crate::memory::entry::{Entry, Kind};
use crate::memory::lane::EVERY_QUEUE;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{Fault, NONE, Step};
use crate::order::rank::Rank;
use crate::testing::faults::{Seeded, armed};
use std::rc::Rc;

impl Scheduler<'_> {
    /// The next lane of all queues: of the lanes that are next in their queues, the first by level and
    /// position as of now.
    pub(crate) fn descend_from_all(&mut self) -> Step<Found> {
        // Each turn but the last moves a key group.
        for _ in 0..=self.entry_slots() {
            let Some(queue) = self.first_queue()? else {
                return Ok(Found::Nothing);
            };
            let expected = self.rank(queue)?;
            let found = self.descend_from(queue)?;
            if self.entry(queue)?.is_placed() && self.rank(queue)? == expected {
                return Ok(found);
            }
        }
        Err(Fault::Corrupt(
            "a pick from all queues goes round in circles",
        ))
    }

    /// Until the lock is released, picks from all queues look at these only. Their keys must be sorted.
    pub fn limit_to(&mut self, queues: Rc<[u64]>) {
        self.queue_filter = Some(queues);
    }

    /// The queue that seems to be next. One whose settings have to be read comes before all others, because it
    /// is not known what its jobs have gained by waiting.
    fn first_queue(&self) -> Step<Option<u32>> {
        let mut best: Option<(bool, Rank, u32)> = None;
        self.for_each_candidate(|queue| {
            let candidate = (!self.is_unread(queue)?, self.rank_now(queue)?, queue);
            best = Some(best.map_or(candidate, |best| best.min(candidate)));
            Ok(())
        })?;
        Ok(best.map(|(_, _, queue)| queue))
    }

    /// Visits the first queue of each interval, or all queues that a claim is limited to.
    fn for_each_candidate(&self, mut visit: impl FnMut(u32) -> Step<()>) -> Step<()> {
        let limited_to = self.queue_filter.as_deref();
        if let Some(keys) = limited_to.filter(|_| !armed(Seeded::IgnoreQueueFilter)) {
            for &key in keys {
                match self.find_queue(key)? {
                    Some(queue) if self.entry(queue)?.is_placed() => visit(queue)?,
                    _ => {}
                }
            }
            return Ok(());
        }
        self.for_each_top(|top| match self.node(top)?.root {
            NONE => Ok(()),
            queue => visit(queue),
        })
    }

    fn is_unread(&self, queue: u32) -> Step<bool> {
        let top = self.entry(queue)?.home;
        Ok(self.entry(top)?.kind == Kind::Unread)
    }

    /// Whether a claim from a queue, or from all of them, has a lane to look at.
    pub(crate) fn has_candidate(&self, queue: u64) -> Step<bool> {
        if queue != EVERY_QUEUE {
            return match self.find_queue(queue)? {
                Some(at) => Ok(self.entry(at)?.is_placed()),
                None => Ok(false),
            };
        }
        let mut any = false;
        self.for_each_top(|top| {
            any |= self.node(top)?.root != NONE;
            Ok(())
        })?;
        Ok(any)
    }

    /// The least rank that jobs of other queues may have.
    pub(crate) fn best_of_other_queues(&self, queue: u32) -> Step<Option<Rank>> {
        let mut best: Option<Rank> = None;
        let mut compare = |other: u32| {
            let rank = self.rank_now(other)?;
            best = Some(best.map_or(rank, |best| best.min(rank)));
            Ok(())
        };
        self.for_each_candidate(|first| {
            if first != queue {
                return compare(first);
            }
            let Entry { left, right, .. } = *self.entry(queue)?;
            let behind = [left, right].into_iter().filter(|&it| it != NONE);
            match self.queue_filter {
                // The others come by themselves.
                Some(_) => Ok(()),
                None => behind.into_iter().try_for_each(&mut compare),
            }
        })?;
        Ok(best)
    }

    /// The rank by which queues are compared, with the level relative to that of jobs that begin to wait now.
    fn rank_now(&self, queue: u32) -> Step<Rank> {
        let rank = self.rank(queue)?;
        let level = rank.level.saturating_sub(self.level_now(queue)?);
        Ok(Rank { level, ..rank })
    }
}
