//! Bounds loops that begin again because another transaction was faster. Where none was, a user's trigger or policy
//! keeps the row from being changed, and the loop would not end.

use crate::pg::error::{Failure, Result};

/// Other transactions are not faster that often: each leaves something new to see, or has to return at the right
/// instant.
const MOST: u32 = 32;

/// Counts how often in a row the same was seen and could not be changed.
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

    /// Called before the loop begins again, with what it has seen.
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
