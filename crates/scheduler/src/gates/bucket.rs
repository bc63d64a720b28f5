//! Rates as token buckets, and pauses that end by themselves: when a gate may let the next job start.
//!
//! A bucket is stored as the time at which it will be full again. Each start moves that time on by `per / starts`, and
//! a start needs that time to be less than a whole bucket ahead. The fraction of a microsecond is stored too, so nothing
//! drifts. A start is charged at the time of its pick, once its job is locked. Until then its token is set aside: a token
//! that turns out not to be needed is as if it had never been taken. A job whose claim aborts later has started and stays
//! charged.
//!
//! Nothing is known of the starts before the memory was made, so a new bucket is empty. It fills from that time on, even
//! before its gate is first used, because all starts since then are on record.

use crate::gates::settings::Rate;
use crate::memory::meter::Meter;
use crate::testing::faults::{Seeded, armed};

impl Meter {
    pub fn rate(&self) -> Option<Rate> {
        (self.starts > 0).then_some(Rate {
            starts: self.starts,
            burst: self.burst,
            per: self.per,
        })
    }

    /// Starts that the gate's rate and pause allow at a time.
    pub fn starts_left(&self, now: i64) -> u32 {
        match self.is_paused(now) {
            true => 0,
            false => self.tokens(now).saturating_sub(self.put_by),
        }
    }

    pub(crate) fn tokens(&self, now: i64) -> u32 {
        if self.starts == 0 {
            return u32::MAX;
        }
        let missing = i128::from(self.full_at) - i128::from(now);
        let missing = missing * i128::from(self.starts) + i128::from(self.fraction);
        let whole = i128::from(self.burst) * i128::from(self.per);
        let left = (whole - missing.max(0)) / i128::from(self.per);
        u32::try_from(left.max(0)).unwrap_or(u32::MAX)
    }

    /// Tokens put by for jobs that are not locked yet.
    pub fn put_by(&self) -> u32 {
        self.put_by
    }

    pub fn is_paused(&self, now: i64) -> bool {
        self.paused_until > now
    }

    /// When the pause ends; in the past if there is none.
    pub fn paused_until(&self) -> i64 {
        self.paused_until
    }

    /// Never more than the whole bucket is missing, unless the clock was set back.
    pub(crate) fn bound_by(&mut self, now: i64) {
        let whole = i128::from(self.burst) * i128::from(self.per);
        let missing = (i128::from(self.full_at) - i128::from(now)) * i128::from(self.starts);
        if self.starts > 0 && missing > whole {
            (self.full_at, self.fraction) = (now, 0);
            self.put_off(self.burst);
        }
    }

    /// The time from which a start is allowed; none: not before some token is given back or used.
    pub(crate) fn opens_at(&self) -> Option<i64> {
        if self.starts == 0 {
            return Some(self.paused_until);
        }
        let spare = i128::from(self.burst) - i128::from(self.put_by) - 1;
        if spare < 0 {
            return None;
        }
        let ahead = (spare * i128::from(self.per) - i128::from(self.fraction))
            .div_euclid(i128::from(self.starts));
        let time = i128::from(self.full_at) - ahead;
        Some(
            i64::try_from(time)
                .unwrap_or(i64::MAX)
                .max(self.paused_until),
        )
    }

    pub(crate) fn charge(&mut self, now: i64) {
        if self.starts == 0 || armed(Seeded::StartFreeOfCharge) {
            return;
        }
        if self.full_at < now {
            (self.full_at, self.fraction) = (now, 0);
        }
        self.put_off(1);
    }

    /// Moves the time at which the bucket is full on by so many tokens.
    pub(crate) fn put_off(&mut self, tokens: u32) {
        let ticks = i128::from(tokens) * i128::from(self.per) + i128::from(self.fraction);
        let starts = i128::from(self.starts.max(1));
        let time = i128::from(self.full_at) + ticks / starts;
        self.full_at = i64::try_from(time).unwrap_or(i64::MAX);
        self.fraction = u32::try_from(ticks % starts).unwrap_or(0);
    }

    /// Another rate brings no tokens of its own.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>, now: i64, empty_since: Option<i64>) {
        let rate = rate.filter(|rate| rate.starts > 0 && rate.per > 0);
        if rate == self.rate() && empty_since.is_none() {
            return;
        }
        let tokens = match self.starts {
            0 => 0,
            _ if armed(Seeded::RefillOnChange) => u32::MAX,
            _ => self.tokens(now),
        };
        let rate = rate.unwrap_or(Rate {
            starts: 0,
            burst: 0,
            per: 0,
        });
        (self.starts, self.burst, self.per) = (rate.starts, rate.burst, rate.per);
        (self.full_at, self.fraction) = (empty_since.unwrap_or(now), 0);
        self.put_off(self.burst.saturating_sub(tokens));
    }
}
