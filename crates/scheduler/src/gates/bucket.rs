//! Rates as token buckets, and pauses that end by themselves: when a gate may let the next job start.
//!
//! A bucket is stored as the time at which it will be full again. Each start moves that time on by `per / starts`, and
//! a start needs that time to be less than a whole bucket ahead. The fraction of a microsecond is stored too, so nothing
//! drifts. A start is charged at the time of its pick, once its job is locked. Until then its token is set aside: a token
//! that turns out not to be needed is as if it had never been taken. A job whose claim aborts later has started and stays
//! charged.
//!
//! A rate begins with a full bucket where none was in force before, see [`crate::gates::rated`]. Where nothing is known of the starts
//! under it, as the memory is younger than the rate, a new bucket is empty. It fills from that time on, even before its gate is first
//! used, because all starts since then are on record.

use crate::gates::settings::Rate;
use crate::memory::meter::Meter;
use crate::testing::faults::{Seeded, armed};

/// What a bucket has when settings were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bucket {
    /// The tokens that it had, and none where there was no rate.
    Kept,
    EmptySince(i64),
    Full,
}

impl Meter {
    pub fn rate(&self) -> Option<Rate> {
        (self.starts > 0).then_some(Rate {
            starts: self.starts,
            burst: self.burst,
            per: self.per,
        })
    }

    /// The starts that the gate's rate and pause allow at a time.
    pub fn starts_left(&self, now: i64) -> u32 {
        match self.is_paused(now) {
            true => 0,
            false => self.tokens(now).saturating_sub(self.reserved_tokens),
        }
    }

    pub(crate) fn tokens(&self, now: i64) -> u32 {
        if self.starts == 0 {
            return u32::MAX;
        }
        let missing =
            (self.full_at - i128::from(now)) * i128::from(self.starts) + i128::from(self.fraction);
        let whole = i128::from(self.burst) * i128::from(self.per);
        let left = (whole - missing.max(0)) / i128::from(self.per);
        u32::try_from(left.max(0)).unwrap_or(u32::MAX)
    }

    /// Tokens that are set aside for jobs that are not locked yet.
    pub fn reserved_tokens(&self) -> u32 {
        self.reserved_tokens
    }

    pub fn is_paused(&self, now: i64) -> bool {
        self.paused_until > now
    }

    /// When the pause ends. This is in the past if there is no pause.
    pub fn paused_until(&self) -> i64 {
        self.paused_until
    }

    /// Never more than the whole bucket is missing, unless the clock was set back. Then the bucket is empty.
    pub(crate) fn clamp(&mut self, now: i64) {
        let whole = i128::from(self.burst) * i128::from(self.per);
        let missing = (self.full_at - i128::from(now)) * i128::from(self.starts);
        if self.starts > 0 && missing > whole {
            (self.full_at, self.fraction) = (now.into(), 0);
            self.consume(self.burst);
        }
    }

    /// The time from which a start is allowed; none: not before a token that is set aside is used or given
    /// back.
    pub(crate) fn opens_at(&self) -> Option<i64> {
        if self.starts == 0 {
            return Some(self.paused_until);
        }
        let spare = i128::from(self.burst) - i128::from(self.reserved_tokens) - 1;
        if spare < 0 {
            return None;
        }
        let ahead = (spare * i128::from(self.per) - i128::from(self.fraction))
            .div_euclid(i128::from(self.starts));
        // A burst that takes longer to fill than times reach back has been open for ever.
        let time = (self.full_at - ahead).clamp(i64::MIN.into(), i64::MAX.into());
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
        if self.full_at < now.into() {
            (self.full_at, self.fraction) = (now.into(), 0);
        }
        self.consume(1);
    }

    /// Moves on the time at which the bucket is full by this number of tokens.
    pub(crate) fn consume(&mut self, tokens: u32) {
        let ticks = i128::from(tokens) * i128::from(self.per) + i128::from(self.fraction);
        let starts = i128::from(self.starts.max(1));
        self.full_at = self.full_at.saturating_add(ticks / starts);
        self.fraction = u32::try_from(ticks % starts).unwrap_or(0);
    }

    /// Another rate brings no tokens of its own.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>, now: i64, bucket: Bucket) {
        let rate = rate.filter(|rate| rate.starts > 0 && rate.per > 0);
        if rate == self.rate() && bucket == Bucket::Kept {
            return;
        }
        let tokens = match self.starts {
            _ if bucket == Bucket::Full => u32::MAX,
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
        let begins = match bucket {
            Bucket::EmptySince(time) => time,
            Bucket::Kept | Bucket::Full => now,
        };
        (self.full_at, self.fraction) = (begins.into(), 0);
        self.consume(self.burst.saturating_sub(tokens));
    }
}
