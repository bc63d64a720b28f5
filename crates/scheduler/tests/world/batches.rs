//! Whether claims have to do with batches, whatever else these have.

use turnstile_scheduler::{GateKind, LaneSpec};

use super::World;
use super::known::Known;

impl World {
    /// What a pick from a lane was about.
    pub fn count_batches(&mut self, known: &Known, picked: &LaneSpec) {
        let is_in_batch = picked.batch != 0;
        let situations = [
            (is_in_batch, "pick in a batch"),
            (
                is_in_batch && picked.account != 0,
                "pick in a batch below an account",
            ),
            (
                is_in_batch && picked.concurrency != 0,
                "pick in a batch with a key",
            ),
            (
                is_in_batch && picked.session != 0,
                "pick in a batch with a session",
            ),
            (
                known.has_closed_batch(picked.queue),
                "pick while a batch was closed",
            ),
            (
                known.has_session_in_several_batches(picked.queue),
                "pick while a session was in several batches",
            ),
        ];
        for (_, situation) in situations.into_iter().filter(|(is_so, _)| *is_so) {
            self.tally.count(situation);
        }
    }
}

impl Known {
    fn lanes_of(&self, queue: u64) -> impl Iterator<Item = &LaneSpec> + Clone {
        let specs = self.lanes.iter().map(|lane| &lane.spec);
        specs.filter(move |spec| spec.queue == queue)
    }

    fn has_closed_batch(&self, queue: u64) -> bool {
        let mut lanes = self.lanes_of(queue).filter(|spec| spec.batch != 0);
        lanes.any(|spec| self.room(GateKind::Batch, spec.batch) == 0)
    }

    fn has_session_in_several_batches(&self, queue: u64) -> bool {
        let of_sessions = self.lanes_of(queue).filter(|spec| spec.session != 0);
        of_sessions.clone().any(|one| {
            let mut others = of_sessions.clone();
            others.any(|it| it.session == one.session && it.batch != one.batch)
        })
    }
}
