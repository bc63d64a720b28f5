//! Which queues have work, as far as memory knows: in lanes that it has, or outside. This is what waiting processes wait for.

use crate::memory::lane::LaneSpec;
use crate::memory::scheduler::Scheduler;

impl Scheduler<'_> {
    /// Whether a claim from the queue, or from all of them, may find a job.
    pub fn has_work(&self, queue: u64) -> bool {
        // Damage is left for a claim to find.
        !matches!(self.has_candidate(queue), Ok(false))
            || !matches!(self.may_find_outside(queue), Ok(false))
    }

    /// How many more jobs may run behind the gates of a lane.
    pub fn room(&self, spec: &LaneSpec) -> u32 {
        let room = |(kind, key)| match self.find_gate(kind, key) {
            Ok(Some(at)) => self.gate(at).map_or(0, |gate| gate.room()),
            _ => u32::MAX,
        };
        spec.gates().map(room).min().unwrap_or(u32::MAX)
    }
}
