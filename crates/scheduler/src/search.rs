//! A claim that finds nothing in memory looks at all lanes of the tables before it gives up.

use crate::{Credit, LaneSpec, Part, Scheduler, Step};

/// A way through all lanes of the tables, from where the round stands, for one that may run in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    queue: u64,
    /// What is to be read next, or was read last.
    pub part: Part,
    began: i64,
    /// The end was reached; what is left is before the beginning.
    is_back: bool,
    chances: u64,
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
}
