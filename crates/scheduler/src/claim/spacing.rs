//! How far a search for the jobs of a lane looks: first by how far apart those of the last claims were, then farther.
//!
//! The next job of a lane is the farther behind the last one the more lanes take turns. A range of positions that is too narrow costs
//! another search. One that is too wide costs a comparison for each entry of an index page that is not wanted: that is more
//! only where there are very many.

/// No jobs are farther apart: where the next one may be anywhere.
const WIDEST: i64 = 100_000;
/// A range reaches so far behind the jobs that are wanted: others may have taken some.
const NEAR: i64 = 6;
/// It has room for so many deviations from where its last job is likely to be, if jobs come at random.
const DEVIATIONS: i64 = 2;
/// To begin another search takes as long as to compare so many entries.
const ENTRIES_OF_A_SEARCH: i64 = 64;
/// Dense lanes may be claimed in turn with others. So many claims in a row must have looked too near.
const MISSES: u8 = 4;

/// The range after one of this width.
pub fn wider(width: i64) -> i64 {
    width.saturating_mul(ENTRIES_OF_A_SEARCH)
}

/// Where a range ends that begins here: the widest one does not.
pub fn end_of_range(from: i64, width: i64) -> i64 {
    match width > WIDEST {
        true => i64::MAX,
        false => from.saturating_add(width),
    }
}

/// What is likely of the next lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    /// From one job to the next.
    apart: i64,
    misses: u8,
}

/// What a claim has found of a lane.
#[derive(Clone, Copy)]
pub struct Looked {
    /// How far apart its jobs were: [`i64::MAX`] where it had no more.
    pub apart: i64,
    pub jobs: i64,
    /// How wide the first range was, and whether another one was needed.
    pub width: i64,
    pub is_too_narrow: bool,
}

impl Spacing {
    pub const DENSE: Self = Self {
        apart: 1,
        misses: 0,
    };

    /// How wide a range is likely to have so many jobs.
    pub fn likely_width(self, jobs: usize) -> i64 {
        let jobs = i64::try_from(jobs).unwrap_or(WIDEST);
        let at_most = jobs.saturating_add(DEVIATIONS * jobs.isqrt());
        self.apart.saturating_mul(at_most).saturating_add(NEAR)
    }

    pub fn after(self, looked: Looked) -> Self {
        let apart = looked.apart.clamp(1, WIDEST);
        let in_vain = looked.width / apart - looked.jobs;
        if in_vain > ENTRIES_OF_A_SEARCH && apart < self.apart {
            return Self { apart, misses: 0 };
        }
        match (looked.is_too_narrow, self.misses.saturating_add(1)) {
            (false, _) => Self { misses: 0, ..self },
            (true, MISSES) => Self {
                apart: apart.max(self.apart),
                misses: 0,
            },
            (true, misses) => Self { misses, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Looked, Spacing, WIDEST};

    fn claim(spacing: Spacing, apart: i64) -> Spacing {
        let width = spacing.likely_width(1);
        spacing.after(Looked {
            apart,
            jobs: 2,
            width,
            is_too_narrow: width < apart,
        })
    }

    fn claims(apart: impl IntoIterator<Item = i64>) -> Spacing {
        apart.into_iter().fold(Spacing::DENSE, claim)
    }

    #[test]
    fn lanes_that_take_turns_are_searched_as_far_as_their_jobs_are_apart() {
        assert!(claims([300; 4]).likely_width(1) > 300);
        assert!(claims([i64::MAX; 4]).likely_width(1) > WIDEST);
    }

    #[test]
    fn a_dense_lane_is_not_read_farther_than_it_needs() {
        assert_eq!(claims([300, 300, 300, 1, 300, 300, 300]), claims([300; 3]));
        let sparse = claims([300; 4]);
        assert_eq!(claim(sparse, 1).apart, 1);
        assert_eq!(claim(sparse, 150).apart, 300);
        assert_eq!(claim(claims([i64::MAX; 4]), 300).apart, 300);
    }
}
