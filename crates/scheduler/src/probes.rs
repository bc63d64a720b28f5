//! What only tests ask of the scheduler.

use crate::lanes::round::is_in_vain;
use crate::memory::capacity::Capacity;
use crate::memory::lane::LaneSpec;
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;
use crate::order::share::clock_key;

/// What is enough for most loads with so many lanes: to begin with, or where nothing grows. A lane commonly has at most two
/// nodes of its own (session and account).
pub const fn capacity_for(lanes: usize) -> Capacity {
    Capacity {
        lanes: lanes + 1,
        nodes: 2 * lanes + 64,
        gates: 2 * lanes + 4_096,
        meters: 2 * lanes + 4_096,
        reservations: lanes / 4 + 16_384,
        shares: lanes / 4 + 4_096,
        due: lanes / 4 + 4_096,
        leases: lanes / 4 + 16_384,
        samples: 4_096,
    }
}

pub trait Probes {
    /// Evicts up to `count` lanes of those who have the most.
    fn evict_some(&mut self, count: u32) -> Step<()>;

    /// Whether no search from the queue, or from all, would look for a lane that is not in memory, although its queue and
    /// tenant are open: what has it on record was searched in vain.
    fn is_given_up(&self, spec: &LaneSpec, queue: u64) -> Step<bool>;

    /// Where the clock of a level stands in a fair queue.
    fn clock_of(&self, queue: u64, level: i32) -> Step<u64>;
}

impl Probes for Scheduler<'_> {
    fn evict_some(&mut self, count: u32) -> Step<()> {
        for _ in 0..count {
            match self.lane_to_evict(None, true, u64::MAX)? {
                Some(lane) => self.evict(lane)?,
                None => break,
            }
        }
        Ok(())
    }

    fn is_given_up(&self, spec: &LaneSpec, queue: u64) -> Step<bool> {
        let openings = &self.header.outside.openings;
        for tenant in [Some(spec.tenant), None] {
            if let Some(at) = self.find_record(spec.queue, tenant)?
                && self.outside(at)?.round.is_active()
                && !is_in_vain(&self.outside(at)?.round, openings)
            {
                return Ok(false);
            }
        }
        let everything = self.header.outside.everything.is_active();
        Ok(!everything || self.is_everything_in_vain(queue))
    }

    fn clock_of(&self, queue: u64, level: i32) -> Step<u64> {
        self.share_tag(clock_key(queue, level))
    }
}
