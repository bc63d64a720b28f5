//! Which of some queues comes first: what a claim from all queues would look at next, if there were no others.

use crate::descend::Found;
use crate::gate::MOST_GATES;
use crate::{Credit, LaneSpec, Scheduler, Step, UnknownGate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstQueue {
    /// Nothing in memory may run now.
    Nothing,
    /// These limits are missing (a key of 0 fills the rest).
    Unknown(LaneSpec, [UnknownGate; MOST_GATES]),
    Queue(u64),
}

impl Scheduler<'_> {
    /// Nothing is reserved. `credits` are as for [`Scheduler::pick`], and are not used up.
    pub fn first_queue(
        &mut self,
        queues: &[u64],
        now: i64,
        credits: &[Credit],
    ) -> Step<FirstQueue> {
        self.advance(now)?;
        for credit in credits {
            self.release_gate(credit.kind, credit.key, credit.count)?;
        }
        let first = self.compare_queues(queues)?;
        for credit in credits {
            self.hold_gate(credit.kind, credit.key, credit.count)?;
        }
        Ok(first)
    }

    fn compare_queues(&mut self, queues: &[u64]) -> Step<FirstQueue> {
        let (mut first, mut best_rank) = (FirstQueue::Nothing, None);
        for &key in queues {
            let Some(queue) = self.find_queue(key)? else {
                continue;
            };
            if let Some(Found::Unknown(lane, gates)) = self.unread_queue(queue)? {
                return Ok(FirstQueue::Unknown(self.spec_of(lane)?, gates));
            }
            if !self.may_come_before(queue, best_rank)? {
                continue;
            }
            let found = self.descend_from(queue)?;
            let rank = self.rank_among_queues(queue, &found)?;
            if rank.is_some_and(|rank| best_rank.is_none_or(|best| rank < best)) {
                best_rank = rank;
                first = match found {
                    Found::Unknown(lane, gates) => FirstQueue::Unknown(self.spec_of(lane)?, gates),
                    _ => FirstQueue::Queue(key),
                };
            }
        }
        Ok(first)
    }
}
