//! One interval of the time since when jobs wait.

use crate::memory::slab::Slot;

/// An interval, and the jobs that were due in it and still wait.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Of a free slot, the next free one; otherwise the next newer interval.
    pub(super) newer: u32,
    pub(super) older: u32,
    /// In seconds.
    pub(super) start: u32,
    /// Its length is 2^n seconds.
    pub(super) log_length: u32,
    /// The first time at which one of them was due.
    pub(super) least: u32,
    /// 0: a free slot. It may be less while a count is under way.
    pub(super) jobs: i32,
}

impl Slot for Bin {
    type Beside = ();
    const CHAIN: u32 = 1;

    fn next(&self) -> u32 {
        self.newer
    }
    fn set_next(&mut self, next: u32) {
        self.newer = next;
    }
    fn is_live(&self, _: &()) -> bool {
        self.jobs != 0
    }
    fn key(&self, _: &()) -> Option<u64> {
        None
    }
}

impl Bin {
    /// The first second behind it.
    pub(super) fn end(&self) -> u64 {
        u64::from(self.start) + (1_u64 << self.log_length)
    }

    pub(super) fn has(&self, second: u32) -> bool {
        self.start <= second && u64::from(second) < self.end()
    }
}
