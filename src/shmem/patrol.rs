//! When a background worker is to be started, because no claim does what is due.

use crate::pg::server::{self, SECOND};
use turnstile_scheduler::times::NEVER;

/// How long lanes that may be empty wait for the looks of claims.
const PATIENCE_WITH_DOUBTS: i64 = 5 * SECOND;

/// How long what is due waits for a claim.
pub(super) const GRACE: i64 = SECOND;
/// The pause after a worker that has changed something. So what comes next need not wait for long.
const PAUSE_AFTER_WORK: i64 = SECOND / 10;
/// The least and the longest time between the starts of two workers otherwise.
const LEAST_PAUSE: i64 = SECOND;
const LONGEST_PAUSE: i64 = 60 * SECOND;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Patrol {
    /// When the notifier will look.
    pub(super) looks_at: i64,
    /// Since when something has been due. What is noted with a time that is over counts from then on, as claims need time
    /// to come.
    pub(super) due_since: i64,
    /// Since when there have been lanes that may be empty.
    doubtful_since: i64,
    /// The memory was rebuilt just before.
    pub(super) claims_until: i64,
    /// No worker is started before this.
    pub(super) not_before: i64,
    /// The pause after the next worker; it grows as long as none comes to its end.
    pause: i64,
}

impl Default for Patrol {
    fn default() -> Self {
        Self {
            looks_at: NEVER,
            due_since: NEVER,
            doubtful_since: NEVER,
            claims_until: i64::MIN,
            not_before: i64::MIN,
            pause: LEAST_PAUSE,
        }
    }
}

impl Patrol {
    /// The memory has just been rebuilt, and a claim may be about to see to what is due.
    pub fn wait_for_claim(&mut self) {
        self.claims_until = server::now().saturating_add(GRACE);
    }

    /// Whether there are lanes that may be empty.
    pub(super) fn note_doubts(&mut self, has_any: bool, now: i64) {
        self.doubtful_since = match has_any {
            true => self.doubtful_since.min(now),
            false => NEVER,
        };
    }

    /// When a worker has to look at them.
    pub(super) fn doubts_due_at(&self) -> i64 {
        self.doubtful_since.saturating_add(PATIENCE_WITH_DOUBTS)
    }

    /// A worker has come to its end.
    pub fn ended(&mut self, has_changed_something: bool) {
        self.pause = LEAST_PAUSE;
        let pause = match has_changed_something {
            true => PAUSE_AFTER_WORK,
            false => LEAST_PAUSE,
        };
        self.not_before = server::now().saturating_add(pause);
    }

    pub(super) fn started(&mut self, now: i64) {
        self.not_before = now.saturating_add(self.pause);
        self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}
