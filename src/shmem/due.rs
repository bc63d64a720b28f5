//! What falls due in each queue: see `turnstile_scheduler`'s `due`.

use super::{Locked, Search, Straggler};
use turnstile_scheduler::Step;

impl Locked<'_> {
    /// Begins a search for expired leases of a queue.
    pub fn take_search(&mut self, queue: u64) -> Step<Search> {
        Ok(Search {
            queue,
            floor: self.scheduler.take_leases(queue)?,
            stragglers: self.state.stragglers.take(queue),
        })
    }

    /// A search has ended or was cut short; the next one is due at `next`. If no place is left for a straggler, the floor
    /// goes back to where a search finds the run.
    pub fn put_back_search(&mut self, search: &Search, next: i64) -> Step<()> {
        let mut floor = search.floor;
        for run in &search.stragglers {
            if !self.state.stragglers.add(*run) {
                floor = floor.min(run.lease);
            }
        }
        self.scheduler.put_back_leases(search.queue, floor, next)?;
        self.scheduler.end_search(search.queue)
    }

    pub fn stragglers(&self) -> impl Iterator<Item = Straggler> + '_ {
        self.state.stragglers.iter()
    }
}
