//! Loops that begin again because somebody else was quicker. Where nobody was, something of a user keeps a row from being
//! changed, and would do so for ever.

use crate::pg::error::{Failure, Result};

/// Others are not quicker that often: each of them leaves something else to see, or has to come back at the right instant.
const MOST: u32 = 32;

/// How often the same was seen, one time after the other, and could not be changed.
pub struct Rounds<T> {
    seen: Option<T>,
    times: u32,
}

impl<T: PartialEq> Rounds<T> {
    pub const fn new() -> Self {
        Self {
            seen: None,
            times: 0,
        }
    }

    /// Before the loop begins again, having seen this.
    pub fn begin_again(&mut self, seen: T, in_vain: impl FnOnce() -> Failure) -> Result<()> {
        pgrx::check_for_interrupts!();
        self.times = match self.seen.as_ref() == Some(&seen) {
            true => self.times + 1,
            false => 1,
        };
        self.seen = Some(seen);
        match self.times < MOST {
            true => Ok(()),
            false => Err(in_vain()),
        }
    }
}
