//! Meters: what is stored of the few gates that have a rate, a pause, or jobs that age.

use crate::memory::slab::Slot;
use crate::memory::step::NONE;

/// The meter of one gate.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// When the bucket will be full again, which may be after the last time that 64 bits have: a burst may take longer to
    /// fill. The fraction of a microsecond is stored apart, in units of `1 / starts`.
    pub(crate) full_at: i128,
    pub(crate) per: i64,
    pub(crate) paused_until: i64,
    /// The last time at which a rate was certainly in force.
    pub(crate) rated_until: i64,
    /// When to look at the gate again, while it has a timer.
    pub(crate) due: i64,
    pub(crate) fraction: u32,
    /// 0: no rate.
    pub(crate) starts: u32,
    pub(crate) burst: u32,
    /// Tokens that are set aside for jobs that are not locked yet.
    pub(crate) reserved_tokens: u32,
    pub(crate) gate: u32,
    /// The slot of its timer; 0: none.
    pub(crate) timer: u32,
    pub(crate) index_next: u32,
    /// For a queue: how long a job waits for one step of priority, in milliseconds; 0: jobs do not age.
    pub(crate) aging: u32,
}

impl Slot for Meter {
    type Beside = ();
    const CHAIN: u32 = 2;

    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
    fn is_live(&self, _: &()) -> bool {
        self.gate != NONE
    }
    fn key(&self, _: &()) -> Option<u64> {
        Some(u64::from(self.gate))
    }
}
