//! When recurring jobs are to be looked at. It is a hint: the table tells which of them are due.

use crate::pg::server::{self, SECOND};
use turnstile_scheduler::times::NEVER;

/// If a look does not come to its end, another follows so long after.
const RETRY: i64 = 10 * SECOND;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Recurring {
    next: i64,
    /// Changes with the table.
    version: u64,
    /// The table was read since the memory was made.
    is_known: bool,
}

impl Default for Recurring {
    fn default() -> Self {
        Self {
            next: NEVER,
            version: 0,
            is_known: false,
        }
    }
}

impl Recurring {
    pub fn next(&self) -> i64 {
        self.next
    }

    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// The table has changed, or may have.
    pub fn look_at(&mut self, time: i64) {
        self.version = self.version.wrapping_add(1);
        self.next = self.next.min(time);
    }

    /// A look begins; `looked` ends it. Returns what is to be passed there.
    pub fn look(&mut self) -> u64 {
        self.next = server::now().saturating_add(RETRY);
        self.version
    }

    /// What was read: when the first is due, unless the table has changed meanwhile.
    pub fn looked(&mut self, version: u64, next: Option<i64>) {
        self.is_known = true;
        if self.version == version {
            self.next = next.unwrap_or(NEVER);
        }
    }
}
