//! Since when the jobs of a name wait: how many of them were due in which interval of time.
//!
//! An interval is 2^n seconds long and begins at a multiple of that, so a job is found in the same interval that it was put into,
//! whatever was merged since. Where it is new, it is no longer than a quarter of the time that has passed; so there are few,
//! and the answer is right to within that.

use super::bin::Bin;
use super::dues::{second_of, time_of};
use super::memory::Figures;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// An interval may be as long as this part of its age.
const PART: u32 = 4;
/// After how many new intervals those that can be one are merged.
const MERGED_EVERY: u32 = 16;

/// How long an interval of that time may be by now: the logarithm.
fn longest(second: u32, now: i64) -> u32 {
    let age = second_of(now).saturating_sub(second);
    (age / PART).max(1).ilog2()
}

fn start_of(second: u32, log_length: u32) -> u32 {
    second >> log_length << log_length
}

impl Figures<'_> {
    /// So many jobs more wait that were due in this second.
    pub(super) fn count_due(&mut self, at: u32, second: u32, jobs: i32, now: i64) -> Step<()> {
        let second = match jobs < 0 && armed(Seeded::TakeTheOldest) {
            true => self.bins.get(self.names.get(at)?.oldest)?.start,
            false => second,
        };
        let (older, newer) = match jobs > 0 {
            true => self.between_from_newest(at, second)?,
            false => self.between_from_oldest(at, second)?,
        };
        if older != NONE && self.bins.get(older)?.has(second) {
            return self.add_to_bin(at, older, second, jobs);
        }
        let bin = self.new_bin((older, newer), second, jobs, now)?;
        let made = self.bins.insert(bin, None)?;
        match older {
            NONE => self.names.get_mut(at)?.oldest = made,
            older => self.bins.get_mut(older)?.newer = made,
        }
        match newer {
            NONE => self.names.get_mut(at)?.newest = made,
            newer => self.bins.get_mut(newer)?.older = made,
        }
        let name = self.names.get_mut(at)?;
        name.bins += 1;
        match name.bins.is_multiple_of(MERGED_EVERY) {
            true => self.merge_bins(at, now),
            false => Ok(()),
        }
    }

    /// The last interval that begins no later than that second, and the one behind it.
    fn between_from_newest(&self, at: u32, second: u32) -> Step<(u32, u32)> {
        let mut newer = NONE;
        let mut bin = self.names.get(at)?.newest;
        for _ in 0..self.bins.slots.len() {
            if bin == NONE || self.bins.get(bin)?.start <= second {
                return Ok((bin, newer));
            }
            newer = bin;
            bin = self.bins.get(bin)?.older;
        }
        Err(Fault::Corrupt("ages have a cycle"))
    }

    fn between_from_oldest(&self, at: u32, second: u32) -> Step<(u32, u32)> {
        let mut older = NONE;
        let mut bin = self.names.get(at)?.oldest;
        for _ in 0..self.bins.slots.len() {
            if bin == NONE || self.bins.get(bin)?.start > second {
                return Ok((older, bin));
            }
            older = bin;
            bin = self.bins.get(bin)?.newer;
        }
        Err(Fault::Corrupt("ages have a cycle"))
    }

    /// The longest interval that is allowed and fits between its neighbors.
    fn new_bin(&self, (older, newer): (u32, u32), second: u32, jobs: i32, now: i64) -> Step<Bin> {
        let from = match older {
            NONE => 0,
            older => self.bins.get(older)?.end(),
        };
        let until = match newer {
            NONE => u64::MAX,
            newer => u64::from(self.bins.get(newer)?.start),
        };
        let made = |log_length| Bin {
            newer,
            older,
            start: start_of(second, log_length),
            log_length,
            least: second,
            jobs,
        };
        let fits = |bin: &Bin| u64::from(bin.start) >= from && bin.end() <= until;
        let mut lengths = (0..=longest(second, now)).rev().map(made);
        Ok(lengths.find(fits).unwrap_or_else(|| made(0)))
    }

    fn add_to_bin(&mut self, at: u32, bin: u32, second: u32, jobs: i32) -> Step<()> {
        let found = self.bins.get_mut(bin)?;
        found.jobs = found.jobs.saturating_add(jobs);
        if jobs > 0 {
            found.least = found.least.min(second);
        }
        match found.jobs {
            0 => self.remove_bin(at, bin),
            _ => Ok(()),
        }
    }

    fn remove_bin(&mut self, at: u32, bin: u32) -> Step<()> {
        let Bin { older, newer, .. } = *self.bins.get(bin)?;
        match older {
            NONE => self.names.get_mut(at)?.oldest = newer,
            older => self.bins.get_mut(older)?.newer = newer,
        }
        match newer {
            NONE => self.names.get_mut(at)?.newest = older,
            newer => self.bins.get_mut(newer)?.older = older,
        }
        let name = self.names.get_mut(at)?;
        name.bins = name.bins.saturating_sub(1);
        self.bins.remove(bin, None)
    }

    /// Makes one of each two neighbors that are old enough to be in one interval.
    fn merge_bins(&mut self, at: u32, now: i64) -> Step<()> {
        let mut bin = self.names.get(at)?.oldest;
        for _ in 0..self.bins.slots.len() {
            if bin == NONE {
                return Ok(());
            }
            let newer = self.bins.get(bin)?.newer;
            if newer == NONE {
                return Ok(());
            }
            match self.union_of(bin, newer, now)? {
                Some(union) => {
                    *self.bins.get_mut(bin)? = union;
                    // Emptied, so that it is taken out of the list with what is left.
                    self.remove_bin(at, newer)?;
                    if union.jobs == 0 {
                        let next = self.bins.get(bin)?.newer;
                        self.remove_bin(at, bin)?;
                        bin = next;
                    }
                }
                None => bin = newer,
            }
        }
        Err(Fault::Corrupt("ages have a cycle"))
    }

    /// The interval with both neighbors, unless it is too long by now or has more in it than those.
    fn union_of(&self, older: u32, newer: u32, now: i64) -> Step<Option<Bin>> {
        let (first, second) = (self.bins.get(older)?, self.bins.get(newer)?);
        let log_length = u32::BITS - (first.start ^ second.start).leading_zeros();
        let log_length = log_length.max(first.log_length).max(second.log_length);
        if log_length > longest(second.start, now) && !armed(Seeded::MergeTheNew) {
            return Ok(None);
        }
        let union = Bin {
            start: start_of(first.start, log_length),
            log_length,
            least: match (first.jobs > 0, second.jobs > 0) {
                (false, true) => second.least,
                _ => first.least,
            },
            jobs: first.jobs.saturating_add(second.jobs),
            ..*first
        };
        let before = match first.older {
            NONE => 0,
            bin => self.bins.get(bin)?.end(),
        };
        let behind = match second.newer {
            NONE => u64::MAX,
            bin => u64::from(self.bins.get(bin)?.start),
        };
        let has_room = u64::from(union.start) >= before && union.end() <= behind;
        Ok(has_room.then_some(union))
    }

    pub(super) fn drop_ages(&mut self, at: u32) -> Step<()> {
        for _ in 0..=self.bins.slots.len() {
            match self.names.get(at)?.oldest {
                NONE => return Ok(()),
                bin => self.remove_bin(at, bin)?,
            }
        }
        Err(Fault::Corrupt("ages have a cycle"))
    }

    /// Since when the first of the jobs has waited; nothing if none waits, or it is not known.
    pub(super) fn waiting_since(&self, at: u32) -> Step<Option<i64>> {
        let name = self.names.get(at)?;
        if name.available() <= 0 {
            return Ok(None);
        }
        let mut bin = name.oldest;
        for _ in 0..self.bins.slots.len() {
            if bin == NONE || name.has_lost_ages {
                return Ok(None);
            }
            let found = self.bins.get(bin)?;
            if found.jobs > 0 {
                return Ok(Some(time_of(found.least)));
            }
            bin = found.newer;
        }
        Ok(None)
    }
}
