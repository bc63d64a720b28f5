//! Numbers that were drawn from a sequence ahead of need, for all processes of a database. Nobody has them yet.
//!
//! The order is that which drawing each number would give:
//! 1. A number is taken only if the page of the sequence has had, since the call began, the version with which the stock was filled:
//!    until then nothing else was drawn from the sequence, and it was not set. What is left after such a change is lost.
//! 2. No number is taken twice: the stock is filled with numbers of which the log says that they are drawn, and taken from in one
//!    step, which fails if it was filled meanwhile.

use crate::pg::seeded::{Seeded, armed};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// So many numbers that are drawn one by one tell whether others draw, too.
const PROBE: u32 = 32;
/// In a stock. As many may be lost at once.
pub const FILL: i64 = 1_000;

#[derive(Default)]
#[repr(C)]
pub struct Stock {
    /// How often it was filled, and, in the lower half, how many numbers are left.
    left: AtomicU64,
    /// Of the page, after the numbers were drawn.
    version: AtomicU64,
    last: AtomicI64,
    /// Whether to draw ahead.
    is_in_use: AtomicBool,
    /// Numbers that were drawn one by one from `probed_from` on.
    probed: AtomicU32,
    probed_from: AtomicI64,
}

const HALF: u64 = 1 << 32;

impl Stock {
    pub fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::Relaxed)
    }

    /// Takes up to `most` numbers. The page has had this version since the call began.
    pub fn take(&self, version: u64, most: u32) -> Option<RangeInclusive<i64>> {
        loop {
            let left = self.left.load(Ordering::Acquire);
            let count = (left % HALF) as u32;
            let is_current = self.version.load(Ordering::Acquire) == version;
            let last = self.last.load(Ordering::Acquire);
            let taken = count.min(most.max(1));
            if taken == 0 || !(is_current || armed(Seeded::TrustStock)) {
                return None;
            }
            let rest = left - u64::from(taken);
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            let exchanged = self
                .left
                .compare_exchange_weak(left, rest, success, failure);
            if exchanged.is_ok() {
                let first = last - i64::from(count) + 1;
                return Some(first..=first + i64::from(taken) - 1);
            }
        }
    }

    /// The last number that was taken; none if the page has another version.
    pub fn last_taken(&self, version: u64) -> Option<i64> {
        let left = self.left.load(Ordering::Acquire) % HALF;
        let is_current = self.version.load(Ordering::Acquire) == version;
        let last = self.last.load(Ordering::Acquire);
        is_current.then(|| last - left.cast_signed())
    }

    /// Fills it with the numbers that were drawn up to `last`. The page is locked by this process alone.
    pub fn fill(&self, version: u64, drawn: &RangeInclusive<i64>) {
        let times = (self.left.load(Ordering::Acquire) / HALF + 1) % HALF * HALF;
        // Who has read the numbers that were there takes none of them from here on.
        self.left.store(times, Ordering::Release);
        self.version.store(version, Ordering::Release);
        self.last.store(*drawn.end(), Ordering::Release);
        let count = drawn.end() - drawn.start() + 1;
        self.left
            .store(times + count.cast_unsigned(), Ordering::Release);
    }

    /// Whether it pays to fill it: where others draw much, most of it would be lost. The page is locked by this process alone.
    pub fn is_worth_filling(&self) -> bool {
        (self.left.load(Ordering::Acquire) % HALF).cast_signed() <= FILL / 2
    }

    /// A number was drawn by itself.
    pub fn note_single(&self, number: i64) {
        let probed = self.probed.fetch_add(1, Ordering::Relaxed) + 1;
        if probed == 1 {
            self.probed_from.store(number, Ordering::Relaxed);
        }
        if probed >= PROBE {
            let passed = number.wrapping_sub(self.probed_from.load(Ordering::Relaxed));
            let are_ours = (0..2 * i64::from(PROBE)).contains(&passed);
            self.is_in_use.store(are_ours, Ordering::Relaxed);
            self.probed.store(0, Ordering::Relaxed);
        }
    }

    /// Draws no more numbers ahead until `note_single` finds that it pays, and loses those that are left.
    pub fn clear(&self) {
        self.is_in_use.store(false, Ordering::Relaxed);
        self.probed.store(0, Ordering::Relaxed);
        self.fill(0, &RangeInclusive::new(1, 0));
    }
}
