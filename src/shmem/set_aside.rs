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
pub struct Hidden {
    lanes: [(LaneSpec, i64); MOST],
    count: usize,
    until: i64,
}

impl Default for Hidden {
    fn default() -> Self {
        Self {
            lanes: [Default::default(); MOST],
            count: 0,
            until: NEVER,
        }
    }
}

impl Hidden {
    pub(super) fn until(&self) -> i64 {
        if self.count > 0 { self.until } else { NEVER }
    }
}

impl Locked<'_> {
    /// The claim is over that hid these lanes, each with the position of the job that it found locked.
    pub fn hide(&mut self, lanes: &[(LaneSpec, i64)], now: i64) -> Step<()> {
        for &(spec, position) in lanes {
            let hidden = &mut self.desk.hidden;
            match hidden.lanes.get_mut(hidden.count) {
                Some(slot) => {
                    *slot = (spec, position);
                    hidden.count += 1;
                    hidden.until = now.saturating_add(A_WHILE);
                }
                None => self.scheduler.lower(&spec, position)?,
            }
        }
        Ok(())
    }

    /// A claim begins, or the while is over: the lanes are looked at again.
    pub fn show_hidden(&mut self) -> Step<()> {
        let count = std::mem::take(&mut self.desk.hidden.count);
        let lanes = self.desk.hidden.lanes;
        for (spec, position) in lanes.iter().take(count) {
            self.scheduler.lower(spec, *position)?;
        }
        Ok(())
    }

    pub fn show_hidden_when_due(&mut self, now: i64) -> Step<()> {
        match self.desk.hidden.until() <= now {
            true => self.show_hidden(),
            false => Ok(()),
        }
    }

    /// The lanes are about to be read from the tables.
    pub fn forget_hidden(&mut self) {
        self.desk.hidden.count = 0;
    }
}
