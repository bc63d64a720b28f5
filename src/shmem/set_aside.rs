//! Lanes whose next job is locked by somebody who is not claiming: out of the sleepers' sight for a while.
//!
//! Nothing tells when a stranger lets go of a row. In sight, such a lane would call one sleeper after the
//! other; so a claim that found it locked hides it, until the next claim or until it is time for another look.

use super::Locked;
use turnstile_scheduler::waiting::NEVER;
use turnstile_scheduler::{LaneSpec, Step};

/// More than that stay in sight.
const MOST: usize = 16;
/// Microseconds until another look.
const A_WHILE: i64 = 100_000;

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
    /// The claim is over that set these lanes aside, each with the position of the job that it found locked.
    pub fn set_aside(&mut self, lanes: &[(LaneSpec, i64)], now: i64) -> Step<()> {
        for &(spec, position) in lanes {
            let set_aside = &mut self.state.set_aside;
            match set_aside.lanes.get_mut(set_aside.count) {
                Some(slot) => {
                    *slot = (spec, position);
                    set_aside.count += 1;
                    set_aside.until = now.saturating_add(A_WHILE);
                }
                None => self.scheduler.lower(&spec, position)?,
            }
        }
        Ok(())
    }

    /// A claim begins, or the while is over: the lanes are looked at again.
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
