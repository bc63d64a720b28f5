//! A claim that finds nothing in memory searches what its queue has outside before it gives up.
//!
//! It goes through the records of the queue from the newest to the oldest, and then through everything if that is on
//! record. Each record is read from where its round stands.

use crate::gates::hold::Credit;
use crate::lanes::outside::Place;
use crate::lanes::round::{Part, is_in_vain};
use crate::memory::gate::GateKind;
use crate::memory::lane::{EVERY_QUEUE, LaneKey, LaneSpec, group_range_of_queue};
use crate::memory::outside::{Round, SEARCHED_QUEUES, place_of_key};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::{NONE, Step};

/// A search for a lane outside that may run in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    pub(crate) queue: u64,
    /// The part to be read next, or that was read last.
    pub part: Part,
    pub(crate) began: LaneKey,
    /// The end of the record was reached. What is left is before the beginning.
    pub(crate) is_back: bool,
    /// Drawn for each record.
    pub(crate) searcher: u64,
    pub(crate) version: u64,
}

impl Scheduler<'_> {
    /// Begins a search: nothing in memory may run in the queue. Returns none if nothing that is missing may
    /// run either.
    pub fn begin_search(&mut self, queue: u64, credits: &[Credit]) -> Step<Option<Search>> {
        let Some(newest) = self.newest_record_of(queue)? else {
            return self.search_everything(queue, credits);
        };
        if !has_any(credits) && self.is_quiet(queue)? {
            return self.search_everything(queue, credits);
        }
        let version = self.header.outside.version;
        let search = self.search_older(queue, newest, u64::MAX, credits)?;
        if search.is_none() && !has_any(credits) {
            self.note_quiet(queue, version)?;
        }
        match search {
            None => self.search_everything(queue, credits),
            some => Ok(some),
        }
    }

    /// Goes on with a search: nothing that was read may run. Returns none if that was all.
    pub fn go_on_searching(
        &mut self,
        search: &Search,
        last: Option<LaneKey>,
        credits: &[Credit],
    ) -> Step<Option<Search>> {
        let part = &search.part;
        let is_on_record = self.round(part.place).is_some_and(Round::is_active);
        let (after, is_back) = match last {
            _ if !is_on_record => return self.search_next(search, credits),
            Some(last) if !search.is_back || last < search.began => (last, search.is_back),
            None if !search.is_back && search.began > part.first() => (part.first(), true),
            _ => {
                self.note_searched_in_vain(search);
                return self.search_next(search, credits);
            }
        };
        let since = self.header.stamp;
        Ok(Some(Search {
            part: Part {
                after,
                since,
                ..*part
            },
            is_back,
            ..*search
        }))
    }

    /// The same as [`Scheduler::offer`] for what was read in a search.
    pub fn offer_to_search(
        &mut self,
        search: &Search,
        lanes: &[(LaneSpec, i64)],
        last: Option<LaneKey>,
        credits: &[Credit],
    ) -> Step<()> {
        self.is_searching = true;
        let offered = self.offer(&search.part, lanes, last, search.queue, credits);
        self.is_searching = false;
        offered
    }

    fn search_next(&mut self, search: &Search, credits: &[Credit]) -> Step<Option<Search>> {
        let Place::Record { id, .. } = search.part.place else {
            return Ok(None);
        };
        let newest = self.newest_record_of(search.queue)?.unwrap_or(NONE);
        match self.search_older(search.queue, newest, id, credits)? {
            None => self.search_everything(search.queue, credits),
            some => Ok(some),
        }
    }

    fn newest_record_of(&self, queue: u64) -> Step<Option<u32>> {
        if queue == EVERY_QUEUE {
            let newest = self.header.outside.newest;
            return Ok((newest != NONE).then_some(newest));
        }
        match self.find_record(queue, None)? {
            Some(of_queue) => Ok(Some(self.outside(of_queue)?.newest)),
            None => Ok(None),
        }
    }

    fn search_older(
        &mut self,
        queue: u64,
        newest: u32,
        before: u64,
        credits: &[Credit],
    ) -> Step<Option<Search>> {
        let is_worth = |memory: &mut Self, at| memory.is_worth_searching(at, credits);
        match self.next_record(queue, newest, before, is_worth)? {
            Some(at) => {
                let part = self.next_part(self.place_of_record(at)?)?;
                Ok(Some(self.search_in(queue, part)))
            }
            None => Ok(None),
        }
    }

    /// Begins with a part. What was known of the lanes that it finds is found out again.
    fn search_in(&mut self, queue: u64, part: Part) -> Search {
        let searcher = self.header.outside.draw();
        let openings = self.header.outside.openings;
        if let Some(round) = self.round_mut(part.place) {
            round.searcher = searcher;
            if !is_in_vain(round, &openings) {
                (round.blockers, round.searched) = (0, 0);
            }
        }
        Search {
            queue,
            part,
            began: part.after,
            is_back: false,
            searcher,
            version: self.header.outside.version,
        }
    }

    /// The last resort: the lanes of a queue, or all, if they may be outside and not be on record by group.
    fn search_everything(&mut self, queue: u64, credits: &[Credit]) -> Step<Option<Search>> {
        let everything = self.header.outside.everything;
        let is_in_vain = self.is_everything_in_vain(queue);
        if !everything.is_active() || is_in_vain && !has_any(credits) {
            return Ok(None);
        }
        let mut part = self.next_part(Place::Everything)?;
        (part.from_group, part.to_group) = group_range_of_queue(queue).into_inner();
        // It does not move the round on, which is that of all queues.
        (part.after, part.round) = (part.first(), 0);
        Ok(Some(self.search_in(queue, part)))
    }

    /// Whether lanes of a record may be outside that may run as far as is known. If not because a gate is closed, that
    /// one is awaited.
    pub(crate) fn is_worth_searching(&mut self, at: u32, credits: &[Credit]) -> Step<bool> {
        let record = self.outside(at)?;
        let is_in_vain = is_in_vain(&record.round, &self.header.outside.openings);
        if !record.round.is_active() || is_in_vain && !has_any(credits) {
            return Ok(false);
        }
        let keys = [
            (GateKind::Queue, record.queue),
            (GateKind::Tenant, record.tenant),
        ];
        let is_lent = |gate: (GateKind, u64)| {
            let is_it = |it: &Credit| (it.kind, it.key) == gate && it.count > 0;
            credits.iter().any(is_it)
        };
        match self.closed_gate_of_record(at)? {
            Some(gate) if !keys.into_iter().any(is_lent) => {
                self.await_gate(gate)?;
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    /// Whether something outside may run in a queue, or in any, as far as is known.
    pub(crate) fn may_find_outside(&self, queue: u64) -> Step<bool> {
        if !self.has_lanes_outside() {
            return Ok(false);
        }
        if self.header.outside.everything.is_active() && !self.is_everything_in_vain(queue) {
            return Ok(true);
        }
        let mut at = match self.newest_record_of(queue)? {
            Some(newest) if !self.is_quiet(queue)? => newest,
            _ => NONE,
        };
        for _ in 0..self.outside.slots.len() {
            if at == NONE {
                break;
            }
            let record = self.outside(at)?;
            let is_in_vain = is_in_vain(&record.round, &self.header.outside.openings);
            if record.round.is_active() && !is_in_vain && self.closed_gate_of_record(at)?.is_none()
            {
                return Ok(true);
            }
            at = match queue {
                EVERY_QUEUE => record.older_of_all,
                _ => record.older,
            };
        }
        Ok(false)
    }

    /// No record of the queue was worth a search, and nothing has changed since.
    fn is_quiet(&self, queue: u64) -> Step<bool> {
        if queue == EVERY_QUEUE {
            return Ok(false);
        }
        match self.find_record(queue, None)? {
            Some(at) => Ok(self.outside(at)?.quiet == self.header.outside.version.wrapping_add(1)),
            None => Ok(false),
        }
    }

    fn note_quiet(&mut self, queue: u64, version: u64) -> Step<()> {
        if queue != EVERY_QUEUE
            && let Some(at) = self.find_record(queue, None)?
        {
            self.outside_mut(at)?.quiet = version.wrapping_add(1);
        }
        Ok(())
    }

    /// All lanes of a record were searched in vain, or all of a queue.
    fn note_searched_in_vain(&mut self, search: &Search) {
        let version = search.version.wrapping_add(1);
        if search.part.place == Place::Everything {
            let places = &mut self.header.outside.searched_in_vain;
            if let Some(found) = places.get_mut(place_of_key(search.queue, SEARCHED_QUEUES)) {
                *found = (search.queue, version);
            }
        } else if let Some(round) = self.round_mut(search.part.place)
            && round.searcher == search.searcher
        {
            round.searched = version;
        }
    }

    pub(crate) fn is_everything_in_vain(&self, queue: u64) -> bool {
        let outside = &self.header.outside;
        let places = &outside.searched_in_vain;
        let found = places.get(place_of_key(queue, SEARCHED_QUEUES));
        found == Some(&(queue, outside.version.wrapping_add(1)))
    }
}

fn has_any(credits: &[Credit]) -> bool {
    credits.iter().any(|credit| credit.count > 0)
}
