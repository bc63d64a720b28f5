//! From which time on rows have to be looked at: a time before which nobody can add a row that is not known yet.

use crate::pg::server::{BEFORE_ALL_TIMES, SECOND};

/// A clock that is set back by less is no reason to read all of the history.
const TOLERANCE: i64 = SECOND;

/// Who ends a job locks the history before it looks at the clock. So what open transactions have added, or still add, ended after
/// their locks were first seen to be missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Since {
    pub from: i64,
    /// Transactions that may have added rows from that time on. All others that are open came after `listed_at`.
    pub writers: Vec<u64>,
    pub listed_at: i64,
}

impl Since {
    /// Where nothing is known of what came before: `oldest` is when the first of the open transactions began.
    pub fn first(now: i64, writers: Vec<u64>, oldest: i64) -> Self {
        Self {
            from: match writers.is_empty() {
                true => now,
                false => now.min(oldest),
            },
            writers,
            listed_at: now,
        }
    }

    /// The same at a later moment, with the transactions that may be adding rows then.
    pub fn at(&self, now: i64, writers: Vec<u64>) -> Self {
        if self.is_ahead_of(now) {
            return Self::first(now, writers, BEFORE_ALL_TIMES);
        }
        let of_old = |writer: &u64| self.writers.contains(writer);
        if writers.is_empty() {
            Self::first(now, writers, now)
        } else if writers.iter().any(of_old) {
            Self {
                writers: writers.into_iter().filter(of_old).collect(),
                ..self.clone()
            }
        } else {
            Self {
                from: self.listed_at,
                writers,
                listed_at: now,
            }
        }
    }

    /// Whether the clock was set back meanwhile.
    pub fn is_ahead_of(&self, now: i64) -> bool {
        now.saturating_add(TOLERANCE) < self.listed_at
    }
}
