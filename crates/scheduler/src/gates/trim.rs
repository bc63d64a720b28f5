//! Makes arrays that are mostly empty smaller, so that the caller can give back what is behind the last slot in use.

use crate::memory::capacity::{Array, Capacity};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;

impl Scheduler<'_> {
    /// Makes an array smaller if at most half of it is in use, in one pass over the slots that were. Low slots are
    /// handed out first from then on, so the next time more can be given back. Returns how many slots it must keep,
    /// with as many buckets as [`Array::buckets`] says.
    pub fn trim(&mut self, array: Array) -> Step<usize> {
        match array {
            Array::Lanes => self.lanes.trim()?,
            Array::Nodes => self.nodes.trim()?,
            Array::Gates => self.trim_gates()?,
            Array::Meters => self.meters.trim()?,
            Array::Shares => self.shares.trim()?,
            Array::Reservations => self.reservations.trim()?,
            Array::Due => self.due.trim()?,
            Array::Leases => self.leases.trim()?,
        }
        Ok(Capacity::of(&self.needed(), array))
    }

    /// Idle gates are known only as long as nothing else needs the space.
    fn trim_gates(&mut self) -> Step<()> {
        let in_use = self
            .gates
            .pool
            .live
            .saturating_sub(self.header.idle_gates.count);
        if in_use <= self.gates.pool.used / 2 {
            self.forget_idle_gates()?;
        }
        self.gates.trim()
    }
}
