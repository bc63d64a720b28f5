//! Which queues have work, as far as memory knows: what sleepers wait for.

use crate::{Kind, LaneSpec, NONE, Scheduler, Step};

impl Scheduler<'_> {
    /// Whether a claim from the queue may find a job.
    pub fn has_work(&self, queue: u64) -> bool {
        match self.find_queue(queue) {
            Ok(Some(at)) => self.entry(at).is_ok_and(|entry| entry.is_ready),
            // A claim finds the damage.
            Err(_) => true,
            Ok(None) => false,
        }
    }

    /// Whether a claim from any queue may.
    pub fn has_work_anywhere(&self) -> bool {
        self.header.ready > 0
    }

    /// How many more jobs may run behind the gates of a lane.
    pub fn room(&self, spec: &LaneSpec) -> u32 {
        let room = |(kind, key)| match self.find_gate(kind, key) {
            Ok(Some(at)) => self.gate(at).map_or(0, |gate| gate.room()),
            _ => u32::MAX,
        };
        spec.gates().map(room).min().unwrap_or(u32::MAX)
    }

    /// A queue's heap or gate has changed.
    pub(crate) fn note_readiness(&mut self, queue: u32) -> Step<()> {
        let entry = *self.entry(queue)?;
        let is_ready =
            entry.kind == Kind::Queue && entry.root != NONE && self.gate_is_open(entry.gate)?;
        if is_ready != entry.is_ready {
            self.entry_mut(queue)?.is_ready = is_ready;
            self.header.ready =
                self.header
                    .ready
                    .wrapping_add_signed(if is_ready { 1 } else { -1 });
        }
        Ok(())
    }
}
