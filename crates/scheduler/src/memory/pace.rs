//! The pace of a gate: how many jobs start behind it in a minute, and when that was last counted.
//!
//! Starts are counted in windows of 2^24 microseconds (17 seconds). What was counted loses a quarter with each new window,
//! so the figure is one of the last minute or two, and a count and the number of its window are all that is stored.

use crate::times::MINUTE;

/// Bits of a time in microseconds below the number of its window.
const WINDOW_BITS: u32 = 24;
const WINDOW: f64 = (1_u32 << WINDOW_BITS) as f64;
/// Windows after which nothing is left of a count.
const FORGOTTEN: u32 = 32;
/// Windows that have passed since a claim that counts as lately.
const LATELY: u32 = 3;
/// One start, so that a quarter of it can be taken away.
const START: u32 = 256;
/// What is left of a count in the next window.
const LEFT: f64 = 0.75;
/// Counts are not known to be older than this many windows.
const OLDEST: u32 = 15;
/// The least part of a window that starts are divided by: when counting began is not known more exactly.
const SHORTEST: f64 = 1.0 / 16.0;

/// All zero: nothing was ever counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    pub(crate) starts: u32,
    /// The number of the window in its upper 24 bits; then in 4 bits each for how many windows it has been counted, and in
    /// which sixteenth of the first of them that began.
    pub(crate) window: u32,
}

fn number_of(now: i64) -> u32 {
    // 0 stands for never.
    ((now >> WINDOW_BITS) as u32 & 0xff_ffff).max(1)
}

fn part_of(now: i64) -> f64 {
    (now & ((1 << WINDOW_BITS) - 1)) as f64 / WINDOW
}

impl Pace {
    /// Counts jobs that start.
    #[inline]
    pub(crate) fn note(&mut self, starts: u32, now: i64) {
        self.go_on(now);
        self.starts = self.starts.saturating_add(starts.saturating_mul(START));
    }

    /// Jobs that were counted did not start.
    pub(crate) fn take_back(&mut self, starts: u32) {
        self.starts = self.starts.saturating_sub(starts.saturating_mul(START));
    }

    /// Nothing has started, but something could have.
    #[inline]
    pub(crate) fn go_on(&mut self, now: i64) {
        if self.window >> 8 != number_of(now) {
            self.begin_window(now);
        }
    }

    #[cold]
    fn begin_window(&mut self, now: i64) {
        let passed = self.windows_since(now);
        if passed >= FORGOTTEN {
            let began = (part_of(now) * 16.0) as u32;
            *self = Self {
                starts: 0,
                window: number_of(now) << 8 | began.min(15),
            };
            return;
        }
        for _ in 0..passed {
            self.starts -= self.starts >> 2;
        }
        let age = (self.age() + passed).min(OLDEST);
        self.window = number_of(now) << 8 | age << 4 | self.window & 15;
    }

    fn age(&self) -> u32 {
        self.window >> 4 & 15
    }

    /// Many if nothing was ever counted, or if the clock was set back.
    fn windows_since(&self, now: i64) -> u32 {
        match self.window {
            0 => FORGOTTEN,
            window => number_of(now).wrapping_sub(window >> 8) & 0xff_ffff,
        }
    }

    /// Whether it was counted within the last minute.
    pub(crate) fn is_recent(&self, now: i64) -> bool {
        self.windows_since(now) <= LATELY
    }

    /// How many jobs start in a minute.
    pub(crate) fn per_minute(mut self, now: i64) -> f64 {
        self.go_on(now);
        let (age, began) = (self.age(), f64::from(self.window & 15) / 16.0);
        let mut windows = part_of(now);
        let mut weight = 1.0;
        for _ in 0..age {
            weight *= LEFT;
            windows += weight;
        }
        windows -= weight * began;
        f64::from(self.starts) / f64::from(START) / windows.max(SHORTEST) / WINDOW * MINUTE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::SECOND;

    const BEGIN: i64 = 800_000_000 * SECOND + 5 * SECOND;

    /// The pace after starts that are evenly spaced.
    fn after(seconds: i64, every: i64) -> (Pace, i64) {
        let mut pace = Pace::default();
        let mut now = BEGIN;
        while now < BEGIN + seconds * SECOND {
            pace.note(1, now);
            now += every;
        }
        (pace, now)
    }

    #[test]
    fn a_steady_pace_is_known_after_seconds_and_stays_known() {
        for seconds in [5, 12, 17, 30, 60, 120, 600, 3_600] {
            for every in [SECOND / 100, SECOND / 10, SECOND / 3] {
                let (pace, now) = after(seconds, every);
                let expected = 60.0 * SECOND as f64 / every as f64;
                let found = pace.per_minute(now);
                assert!(
                    (found / expected - 1.0).abs() < 0.3,
                    "{found} instead of {expected} after {seconds} s"
                );
            }
        }
    }

    #[test]
    fn a_change_shows_within_two_minutes() {
        let (mut pace, mut now) = after(3_600, SECOND / 10);
        for _ in 0..120 {
            now += SECOND;
            pace.note(1, now);
        }
        let found = pace.per_minute(now);
        assert!((60.0..140.0).contains(&found), "{found}");
    }

    #[test]
    fn gates_whose_first_starts_were_moments_apart_have_paces_alike() {
        // One was counted from just before a sixteenth of a window on, the other from just after it.
        let boundary = BEGIN >> (WINDOW_BITS - 4) << (WINDOW_BITS - 4);
        let (mut earlier, mut later) = (Pace::default(), Pace::default());
        earlier.note(1, boundary - 1);
        later.note(1, boundary);
        for passed in [0, SECOND / 100, SECOND / 2, SECOND, 2 * SECOND, 60 * SECOND] {
            let now = boundary + passed;
            let ratio = later.per_minute(now) / earlier.per_minute(now);
            assert!((0.5..=2.0).contains(&ratio), "{ratio} after {passed}");
        }
    }

    #[test]
    fn what_is_taken_back_has_not_started() {
        let mut pace = Pace::default();
        pace.note(10, BEGIN);
        pace.take_back(10);
        assert_eq!(pace.per_minute(BEGIN + SECOND), 0.0);
    }

    #[test]
    fn what_was_counted_long_ago_is_forgotten() {
        let (pace, now) = after(600, SECOND);
        assert_eq!(pace.per_minute(now + 3_600 * SECOND), 0.0);
        assert!(pace.is_recent(now + 30 * SECOND));
        assert!(!pace.is_recent(now + 70 * SECOND));
        assert!(!pace.is_recent(now - 3_600 * SECOND));
        assert!(!Pace::default().is_recent(now));
    }
}
