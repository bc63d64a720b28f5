//! What has happened in about the last minute.

use crate::times::SECOND;

const WINDOW: i64 = 10 * SECOND;
/// The current window, and those of a minute.
const WINDOWS: usize = 7;

/// All zero: nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Minute {
    /// The number of the current window.
    window: u32,
    counts: [u32; WINDOWS],
}

fn number_of(now: i64) -> u32 {
    u32::try_from(now / WINDOW).unwrap_or(0)
}

impl Minute {
    pub fn note(&mut self, events: u32, now: i64) {
        self.go_on(now);
        if let Some(count) = self.counts.get_mut(self.window as usize % WINDOWS) {
            *count = count.saturating_add(events);
        }
    }

    /// Nothing has happened in the windows that are known.
    pub fn is_empty(&self) -> bool {
        self.counts == [0; WINDOWS]
    }

    /// How many there were in the last 60 to 70 seconds.
    pub fn count(mut self, now: i64) -> u64 {
        self.go_on(now);
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Where the clock was set back a little, events count for the newest window; if that is more than a minute ahead, it is
    /// forgotten.
    fn go_on(&mut self, now: i64) {
        let window = number_of(now);
        if self.window.saturating_sub(window) as usize >= WINDOWS {
            *self = Self::default();
        }
        let passed = window.saturating_sub(self.window);
        if passed as usize >= WINDOWS {
            self.counts = [0; WINDOWS];
        }
        for empty in (self.window.wrapping_add(1)..=window).take(WINDOWS) {
            if let Some(count) = self.counts.get_mut(empty as usize % WINDOWS) {
                *count = 0;
            }
        }
        self.window = self.window.max(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_count_for_a_minute_and_no_longer_than_a_window_more() {
        for begin in [0, 3, 9, 11] {
            let begin = (800_000_000 + begin) * SECOND;
            let mut minute = Minute::default();
            minute.note(2, begin);
            minute.note(3, begin + 20 * SECOND);
            assert_eq!(minute.count(begin + 20 * SECOND), 5);
            assert_eq!(minute.count(begin + 59 * SECOND), 5);
            assert_eq!(minute.count(begin + 71 * SECOND), 3);
            assert_eq!(minute.count(begin + 91 * SECOND), 0);
            assert_eq!(minute.count(begin + 9_000 * SECOND), 0);
        }
    }

    #[test]
    fn a_clock_that_was_wrong_leaves_nothing_behind() {
        let (now, wrong) = (800_000_000 * SECOND, 4_000_000_000 * SECOND);
        let mut minute = Minute::default();
        minute.note(7, wrong);
        assert_eq!(minute.count(now), 0);
        minute.note(2, now);
        assert_eq!(minute.count(now), 2);
        assert_eq!(minute.count(now + 90 * SECOND), 0);
        // By less than a minute it may be set back at any time.
        minute.note(3, now + 90 * SECOND);
        minute.note(4, now + 60 * SECOND);
        assert_eq!(minute.count(now + 90 * SECOND), 7);
    }
}
