//! How far a bounded look goes with its next statement: the windows grow with what the server manages, and end when time is up.

use std::time::{Duration, Instant};

/// A page waits no longer for jobs that match.
pub const ENOUGH: Duration = Duration::from_millis(150);
/// So a look takes at most twice as long, even if the last window is as full as it can be.
const LARGEST: i64 = 100_000;
const GROWTH: i64 = 4;

pub struct Windows {
    began: Instant,
    size: i64,
}

impl Windows {
    pub fn new(first: i64) -> Self {
        Self {
            began: Instant::now(),
            size: first,
        }
    }

    pub fn size(&self) -> i64 {
        self.size
    }

    pub fn grow(&mut self) {
        self.size = self.size.saturating_mul(GROWTH).min(LARGEST);
    }

    pub fn is_time_up(&self) -> bool {
        self.began.elapsed() >= ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_up_to_a_bound() {
        let mut windows = Windows::new(5_000);
        windows.grow();
        assert_eq!(windows.size(), 20_000);
        windows.grow();
        windows.grow();
        windows.grow();
        assert_eq!(windows.size(), LARGEST);
        assert!(!windows.is_time_up());
    }
}
