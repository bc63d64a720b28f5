//! Lanes whose next job is locked by a transaction that is not claiming. They are hidden from sleeping backends for a
//! while.
//!
//! Nothing reports when such a transaction releases a row. If the lane stayed visible, it would wake one sleeping
//! backend after the other. So a claim that found the row locked sets the lane aside, until the next claim or until
//! it is time for another look.

use turnstile_scheduler::LaneSpec;
use turnstile_scheduler::waiting::NEVER;

/// Any more lanes stay visible.
const MOST: usize = 16;
/// Microseconds until another look.
const PAUSE: i64 = 100_000;

#[derive(Debug)]
pub struct SetAside {
    lanes: [(LaneSpec, i64); MOST],
    count: usize,
    until: i64,
}

impl Default for SetAside {
    fn default() -> Self {
        Self {
            lanes: [Default::default(); MOST],
            count: 0,
            until: NEVER,
        }
    }
}

impl SetAside {
    pub(super) fn until(&self) -> i64 {
        if self.count > 0 { self.until } else { NEVER }
    }

    /// False if there are too many.
    pub(super) fn add(&mut self, spec: LaneSpec, position: i64, now: i64) -> bool {
        let Some(slot) = self.lanes.get_mut(self.count) else {
            return false;
        };
        *slot = (spec, position);
        self.count += 1;
        self.until = now.saturating_add(PAUSE);
        true
    }

    /// All of them, which are no longer set aside.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (LaneSpec, i64)> + use<> {
        let count = std::mem::take(&mut self.count);
        self.lanes.into_iter().take(count)
    }

    pub(super) fn forget(&mut self) {
        self.count = 0;
    }
}
