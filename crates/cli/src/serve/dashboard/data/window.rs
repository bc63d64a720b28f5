//! How far a bounded look goes with its next statement: the windows grow with what the server manages, and end when time is up.

use std::time::{Duration, Instant};

/// A page waits no longer for jobs that match.
pub const ENOUGH: Duration = Duration::from_millis(150);
/// A statement that may find far more than it shows gets no more than this: there is another way, or the page does without.
pub const BRIEF: Duration = Duration::from_millis(70);
/// So many jobs are read at once, and sorted.
pub const FEW_JOBS: i64 = 5_000;
const LARGEST: i64 = 100_000;
/// In steps, so that viewers who look at the same time ask for the same.
const STEP: i64 = 4;
/// A window that took less may be followed by a larger one, and one that took more by a smaller one: whatever the server does
/// meanwhile, the last one ends soon after time is up.
const QUICK: Duration = Duration::from_millis(15);
const SLOW: Duration = Duration::from_millis(90);

pub struct Windows {
    began: Instant,
    last: Instant,
    first: i64,
    size: i64,
}

impl Windows {
    pub fn new(first: i64) -> Self {
        let now = Instant::now();
        Self {
            began: now,
            last: now,
            first,
            size: first,
        }
    }

    pub fn size(&self) -> i64 {
        self.size
    }

    /// After a window that was looked through, or shrink if that took long.
    pub fn grow(&mut self) {
        let took = self.last.elapsed();
        self.last = Instant::now();
        self.size = next(self.first, self.size, took);
    }

    pub fn is_time_up(&self) -> bool {
        self.began.elapsed() >= ENOUGH
    }
}

fn next(first: i64, size: i64, took: Duration) -> i64 {
    let larger = size.saturating_mul(STEP);
    match took {
        took if took < QUICK && larger <= LARGEST => larger,
        took if took > SLOW => (size / STEP).max(first),
        _ => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_follow_what_the_server_manages() {
        let mut windows = Windows::new(5_000);
        windows.grow();
        assert_eq!(windows.size(), 20_000);
        windows.grow();
        windows.grow();
        assert_eq!(windows.size(), 80_000);
        assert!(!windows.is_time_up());
        let enough = Duration::from_millis(40);
        assert_eq!(next(5_000, 20_000, enough), 20_000);
        assert_eq!(next(5_000, 20_000, SLOW * 2), 5_000);
        assert_eq!(next(5_000, 5_000, SLOW * 2), 5_000);
    }
}
