//! How far a claim may go on in the lane that it picked before another lane comes first.

use crate::memory::entry::{Entry, Kind};
use crate::memory::lane::EVERY_QUEUE;
use crate::memory::path::{LanePath, MAX_NODE_DEPTH};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};
use crate::order::rank::Rank;
use crate::testing::faults::{Seeded, armed};

/// The best of all lanes but one.
#[derive(Default)]
struct Rivals {
    in_tenant: Option<Rank>,
    /// The best lane of other tenants.
    other_place: Option<Rank>,
    other_queues: Option<Rank>,
}

impl Scheduler<'_> {
    /// The position from which on jobs of a lane would overtake others, and how many starts its tenant has
    /// before another tenant is due.
    pub(crate) fn runner_up(
        &self,
        lane: u32,
        path: &LanePath,
        queue: u64,
    ) -> Step<(Option<i64>, u32)> {
        let own = *self.entry(lane)?;
        let rivals = self.rivals(lane, &own, path, queue)?;
        let is_fair = self.is_fair(path.queue)?;
        let mut due = u32::MAX;
        let mut ties = rivals.other_place;
        if let Some(rank) = rivals.other_place.filter(|_| is_fair) {
            let tag = self.tag_of(path.tenant, own.level)?;
            let ahead = rank.tag.saturating_sub(tag);
            let is_tie = rank.level == own.level;
            if is_tie {
                let starts = ahead.div_ceil(self.cost_of(path.tenant)?).max(1);
                due = u32::try_from(starts).unwrap_or(u32::MAX);
            }
            ties = rivals.other_place.filter(|_| is_tie && ahead == 0);
        }
        let order = |rank: &Rank| (rank.level, rank.head);
        let first = rivals
            .in_tenant
            .into_iter()
            .chain(ties)
            .chain(rivals.other_queues)
            .min_by_key(order);
        let mut bound = match first {
            Some(rival) => self.bound_by(lane, &own, path.queue, &rival)?,
            None => i64::MAX,
        };
        if is_fair && self.ages(path.queue)? {
            // All starts of a pick are charged at one level.
            let end = self.first_at_level(lane, path.queue, i64::from(own.level) + 1)?;
            bound = bound.min(end.max(own.head.saturating_add(1)));
        }
        Ok(((bound < i64::MAX).then_some(bound), due))
    }

    /// The best other lane is the best of the siblings on the path from the lane to its queue. In a claim
    /// from all queues, the first lanes of other queues count too.
    fn rivals(&self, lane: u32, own: &Entry, path: &LanePath, queue: u64) -> Step<Rivals> {
        let mut rivals = Rivals::default();
        if armed(Seeded::IgnoreRunnerUp) {
            return Ok(rivals);
        }
        let comes_later = |rank: &Rank| rank.level >= own.level;
        let mut at = lane;
        for _ in 0..MAX_NODE_DEPTH {
            let entry = self.entry(at)?;
            if entry.kind == Kind::Queue {
                break;
            }
            let place = self.place(at)?;
            let is_among_tenants = place == path.queue || place == path.concurrency;
            for child in [entry.left, entry.right] {
                if child != NONE {
                    let rank = self.rank(child)?;
                    let best = match is_among_tenants {
                        true => &mut rivals.other_place,
                        false => &mut rivals.in_tenant,
                    };
                    *best = Some(best.map_or(rank, |best| best.min(rank)));
                }
            }
            at = place;
        }
        rivals.in_tenant = rivals.in_tenant.filter(comes_later);
        rivals.other_place = rivals.other_place.filter(comes_later);
        if queue == EVERY_QUEUE && !armed(Seeded::IgnoreOtherQueues) {
            let now = self.level_now(path.queue)?;
            // Of a fair queue it may not be known which head is next.
            let best = self.best_of_other_queues(at)?.map(|rank| Rank {
                level: rank.level.saturating_add(now),
                head: rank.head.max(own.head),
                ..rank
            });
            rivals.other_queues = best.filter(comes_later);
        }
        Ok(rivals)
    }

    /// The position from which on a rival comes before the jobs of a lane. This is just after the rival's
    /// head, because no two jobs have the same position, unless jobs have waited so much longer or shorter
    /// that their level differs.
    pub(crate) fn bound_by(&self, lane: u32, own: &Entry, queue: u32, rival: &Rank) -> Step<i64> {
        let next = own.head.saturating_add(1);
        let behind = i64::from(!armed(Seeded::StopAtRunnerUp));
        let behind = rival.head.saturating_add(behind);
        if armed(Seeded::TakeYoungerJobs) {
            let is_tie = rival.level == own.level;
            return Ok(if is_tie { behind } else { i64::MAX });
        }
        let level = i64::from(rival.level);
        let level_begins = self.first_at_level(lane, queue, level)?;
        let level_ends = self.first_at_level(lane, queue, level + 1)?;
        let bound = behind.max(level_begins).min(level_ends.max(next));
        // The job at the head itself may always be taken, even if its date is later than the lane's level
        // says.
        Ok(match rival.level > own.level {
            true => bound.max(next),
            false => bound,
        })
    }
}
