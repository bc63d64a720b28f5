//! What falls due in each queue: see `turnstile_scheduler`'s `due`.

use super::locked::Locked;
use crate::pg::server::{self, SECOND};
use turnstile_scheduler::{LeaseView, RunId, Step};

/// Runs that a search has taken are looked at by others after this time, whatever becomes of the search.
pub const SEARCHED_AGAIN: i64 = SECOND;

/// Runs of a queue that a search has taken from memory.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub runs: Vec<RunId>,
    /// When they are due again.
    pub again: i64,
}

impl Locked<'_> {
    /// Begins a search: takes up to `most` runs of a queue whose lease ends by `by`.
    pub fn take_search(&mut self, queue: u64, by: i64, most: usize) -> Step<Search> {
        let mut search = Search {
            runs: Vec::new(),
            again: server::now()
                .saturating_add(SEARCHED_AGAIN)
                .max(by.saturating_add(1)),
        };
        let Search { runs, again } = &mut search;
        self.scheduler.take_leases(queue, by, *again, most, runs)?;
        Ok(search)
    }

    /// Watches a lease; where there is no memory, it is noted when the first of those ends.
    pub fn note_lease(&mut self, lease: &LeaseView) -> Step<()> {
        if !self.scheduler.has_room_for_lease() {
            self.make_room(0);
        }
        let &LeaseView { queue, run, time } = lease;
        self.scheduler.note_lease(queue, run, time)
    }
}
