//! A claim that finds nothing in memory searches all lanes of the tables before it gives up.

use crate::gates::hold::Credit;
use crate::lanes::overflow::Part;
use crate::memory::lane::LaneSpec;
use crate::memory::overflow::{SEARCHED_QUEUES, place_of_key};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;

/// A search through all lanes of the tables, from where the round stands, for one that may run in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub(crate) queue: u64,
    /// The part to be read next, or that was read last.
    pub part: Part,
    pub(crate) began: i64,
    /// The end was reached. What is left is before the beginning.
    pub(crate) is_back: bool,
    pub(crate) runnable_version: u64,
}

impl Scheduler<'_> {
    /// Begins a search: nothing in memory may run in the queue. Returns none if nothing that is missing may
    /// run either.
    pub fn begin_search(&mut self, queue: u64, credits: &[Credit]) -> Option<Search> {
        let has_credit = credits.iter().any(|credit| credit.count > 0);
        if !self.has_overflow() || self.is_searched_in_vain(queue) && !has_credit {
            return None;
        }
        let runnable_version = self.runnable_version();
        let part = self.next_part();
        Some(Search {
            queue,
            part,
            began: part.after,
            is_back: false,
            runnable_version,
        })
    }

    /// Goes on with a search: nothing that was read may run. Returns none if that was all.
    pub fn go_on_searching(&mut self, search: &Search, last: Option<i64>) -> Option<Search> {
        if !self.has_overflow() {
            return None;
        }
        let (after, is_back) = match last {
            Some(last) if !search.is_back || last < search.began => (last, search.is_back),
            None if !search.is_back && search.began > i64::MIN => (i64::MIN, true),
            _ => {
                self.note_searched_in_vain(search.queue, search.runnable_version);
                return None;
            }
        };
        Some(Search {
            part: self.part(after),
            is_back,
            ..*search
        })
    }

    /// The same as [`Scheduler::offer`] for what was read in a search.
    pub fn offer_to_search(
        &mut self,
        search: &Search,
        lanes: &[(LaneSpec, i64)],
        last: Option<i64>,
        credits: &[Credit],
    ) -> Step<()> {
        self.offer(&search.part, lanes, last, search.queue, credits)
    }

    /// As long as this does not change, no lane that is missing has become able to run.
    pub(crate) fn runnable_version(&self) -> u64 {
        self.header.overflow.runnable_version
    }

    /// A queue was searched in vain, beginning when the version was this.
    pub(crate) fn note_searched_in_vain(&mut self, queue: u64, runnable_version: u64) {
        if let Some(found) = self
            .header
            .overflow
            .searched_in_vain
            .get_mut(place_of_key(queue, SEARCHED_QUEUES))
        {
            *found = (queue, runnable_version);
        }
    }

    /// Whether a queue, or all, was searched in vain and no lane that is missing has become able to run
    /// since.
    pub fn is_searched_in_vain(&self, queue: u64) -> bool {
        let overflow = &self.header.overflow;
        let found = overflow
            .searched_in_vain
            .get(place_of_key(queue, SEARCHED_QUEUES));
        found == Some(&(queue, overflow.runnable_version))
    }
}
