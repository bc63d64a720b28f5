//! Lanes whose next job is locked by a transaction that is not claiming. They are hidden from sleeping backends for a
//! while.
//!
//! Nothing reports when such a transaction releases a row. If the lane stayed visible, it would wake one sleeping
//! backend after the other. So a claim that found the row locked sets the lane aside, until the next claim or until
//! it is time for another look.

use super::Locked;
use turnstile_scheduler::waiting::NEVER;
use turnstile_scheduler::{LaneSpec, Step};

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
}

impl Locked<'_> {
    /// The claim that set these lanes aside is over. Each lane comes with the position of the job that the claim
    /// found locked.
    pub fn set_aside(&mut self, lanes: &[(LaneSpec, i64)], now: i64) -> Step<()> {
        for &(spec, position) in lanes {
            let set_aside = &mut self.state.set_aside;
            match set_aside.lanes.get_mut(set_aside.count) {
                Some(slot) => {
                    *slot = (spec, position);
                    set_aside.count += 1;
                    set_aside.until = now.saturating_add(PAUSE);
                }
                None => self.scheduler.lower(&spec, position)?,
            }
        }
        Ok(())
    }

    /// A claim begins, or the time is over: the lanes are looked at again.
    pub fn bring_back(&mut self) -> Step<()> {
        let count = std::mem::take(&mut self.state.set_aside.count);
        let lanes = self.state.set_aside.lanes;
        for (spec, position) in lanes.iter().take(count) {
            self.scheduler.lower(spec, *position)?;
        }
        Ok(())
    }

    pub fn bring_back_when_due(&mut self, now: i64) -> Step<()> {
        match self.state.set_aside.until() <= now {
            true => self.bring_back(),
            false => Ok(()),
        }
    }

    /// The lanes are about to be read from the tables.
    pub fn forget_set_aside(&mut self) {
        self.state.set_aside.count = 0;
    }
}
