//! The last runs that failed and will be repeated: no table has a place where a reader would find just these.

use crate::pg::seeded::{Seeded, armed};

const MOST: usize = 512;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailedRun {
    /// Follows the one before. It begins with the time in microseconds, so it goes on rising after a restart.
    pub number: i64,
    pub job: i64,
    pub failed_at: i64,
    pub attempt: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FailedRuns {
    runs: [FailedRun; MOST],
    last: i64,
    count: u32,
}

impl Default for FailedRuns {
    fn default() -> Self {
        Self {
            runs: [FailedRun::default(); MOST],
            last: 0,
            count: 0,
        }
    }
}

impl FailedRuns {
    /// Takes the place of the oldest if there is no other.
    pub fn add(&mut self, job: i64, attempt: i32, now: i64) {
        if armed(Seeded::ForgetFailedRun) {
            return;
        }
        let next = self.last.saturating_add(1);
        self.last = match self.count {
            0 => next.max(now),
            _ => next,
        };
        let run = FailedRun {
            number: self.last,
            job,
            failed_at: now,
            attempt,
        };
        if let Some(place) = self.runs.get_mut(place_of(self.last)) {
            *place = run;
        }
        self.count = self.count.saturating_add(1).min(MOST as u32);
    }

    /// The tables were emptied: other jobs may get the same ids.
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// Those after a number, in order.
    pub fn after(&self, number: i64) -> Vec<FailedRun> {
        let known = i64::from(self.count);
        let first = self.last.saturating_sub(known).max(number);
        (first.saturating_add(1)..=self.last)
            .filter_map(|number| self.runs.get(place_of(number)).copied())
            .collect()
    }
}

fn place_of(number: i64) -> usize {
    usize::try_from(number.rem_euclid(MOST as i64)).unwrap_or(0)
}
