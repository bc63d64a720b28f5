//! Meters: what is stored of the few gates that have a rate, a pause, or jobs that age.

use crate::memory::slab::Slot;

/// The clockwork of one gate.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// When the bucket is full again, and the fraction of a microsecond on top in units of `1 / starts`.
    pub(crate) full_at: i64,
    pub(crate) per: i64,
    pub(crate) paused_until: i64,
    /// When the gate is to be looked at again, while it has a place among the timers.
    pub(crate) due: i64,
    pub(crate) fraction: u32,
    /// 0: no rate.
    pub(crate) starts: u32,
    pub(crate) burst: u32,
    /// Tokens put by for jobs that are not locked yet.
    pub(crate) put_by: u32,
    pub(crate) gate: u32,
    /// The place among the timers; 0: none.
    pub(crate) timer: u32,
    pub(crate) index_next: u32,
    /// Of a queue: how long a job waits for a step of priority, in milliseconds; 0: for ever.
    pub(crate) aging: u32,
}

impl Slot for Meter {
    fn next(&self) -> u32 {
        self.index_next
    }
    fn set_next(&mut self, next: u32) {
        self.index_next = next;
    }
}
