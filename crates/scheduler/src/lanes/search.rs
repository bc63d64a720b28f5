//! A claim that finds nothing in memory searches all lanes of the tables before it gives up.

use crate::gates::hold::Credit;
use crate::lanes::overflow::Part;
use crate::memory::lane::LaneSpec;
use crate::memory::overflow::BARREN;
use crate::memory::overflow::place_of_key;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;

/// A way through all lanes of the tables, from where the round stands, for one that may run in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub(crate) queue: u64,
    /// What is to be read next, or was read last.
    pub part: Part,
    pub(crate) began: i64,
    /// The end was reached; what is left is before the beginning.
    pub(crate) is_back: bool,
    pub(crate) chances: u64,
}

impl Scheduler<'_> {
    /// Nothing in memory may run in the queue. None if that holds for what is missing, too.
    pub fn begin_search(&mut self, queue: u64, credits: &[Credit]) -> Option<Search> {
        let has_credit = credits.iter().any(|credit| credit.count > 0);
        if !self.has_overflow() || self.is_barren(queue) && !has_credit {
            return None;
        }
        let chances = self.chances();
        let part = self.next_part();
        Some(Search {
            queue,
            part,
            began: part.after,
            is_back: false,
            chances,
        })
    }

    /// Nothing that was read may run either. None if that was all.
    pub fn go_on_searching(&mut self, search: &Search, last: Option<i64>) -> Option<Search> {
        if !self.has_overflow() {
            return None;
        }
        let (after, is_back) = match last {
            Some(last) if !search.is_back || last < search.began => (last, search.is_back),
            None if !search.is_back && search.began > i64::MIN => (i64::MIN, true),
            _ => {
                self.note_barren(search.queue, search.chances);
                return None;
            }
        };
        Some(Search {
            part: self.part(after),
            is_back,
            ..*search
        })
    }

    /// As [`Scheduler::offer`] for what was read in a search.
    pub fn offer_to_search(
        &mut self,
        search: &Search,
        lanes: &[(LaneSpec, i64)],
        last: Option<i64>,
        credits: &[Credit],
    ) -> Step<()> {
        self.offer(&search.part, lanes, last, search.queue, credits)
    }

    /// What is missing has no more chances to run than when this was the same.
    pub(crate) fn chances(&self) -> u64 {
        self.header.overflow.chances
    }

    /// A queue was searched in vain, in all that was missing when there were these chances.
    pub(crate) fn note_barren(&mut self, queue: u64, chances: u64) {
        if let Some(found) = self
            .header
            .overflow
            .barren
            .get_mut(place_of_key(queue, BARREN))
        {
            *found = (queue, chances);
        }
    }

    /// Whether nothing that is missing of a queue, or of all, may run.
    pub fn is_barren(&self, queue: u64) -> bool {
        let outside = &self.header.overflow;
        let found = outside.barren.get(place_of_key(queue, BARREN));
        found == Some(&(queue, outside.chances))
    }
}
