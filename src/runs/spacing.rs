//! How far apart the jobs of a lane are by their positions, as the claims of this backend have found them.
//!
//! A range that is too narrow costs another search of the index. One that is too wide costs a comparison for each entry of a page
//! that is not wanted, which is more only where there are very many.

use std::cell::Cell;

/// No range is wider, but for one without an end.
pub const WIDEST: i64 = 100_000;
/// A range reaches so far behind the jobs that are wanted, and is so many times as wide as they are likely to need.
const NEAR: i64 = 16;
const MARGIN: i64 = 2;
/// To begin another range takes as long as to compare so many entries.
const ENTRIES_OF_A_SEARCH: i64 = 64;
/// Lanes whose jobs are near may be claimed in turn with others. So many claims in a row must have looked too near.
const MISSES: u8 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Likely {
    spacing: i64,
    misses: u8,
}

const DENSE: Likely = Likely {
    spacing: 1,
    misses: 0,
};

thread_local! {
    static LIKELY: Cell<Likely> = const { Cell::new(DENSE) };
}

/// How wide a range is likely to have so many jobs.
pub fn likely_width(jobs: usize) -> i64 {
    let jobs = i64::try_from(jobs).unwrap_or(WIDEST);
    let each = LIKELY.get().spacing.saturating_mul(MARGIN);
    jobs.saturating_mul(each).saturating_add(NEAR)
}

/// What a claim has found of a lane.
#[derive(Clone, Copy)]
pub struct Found {
    pub spacing: i64,
    pub jobs: i64,
    /// Where it looked first.
    pub width: i64,
    /// It had to look on.
    pub is_too_narrow: bool,
}

pub fn note(found: Found) {
    LIKELY.set(LIKELY.get().after(found));
}

impl Likely {
    fn after(self, found: Found) -> Self {
        let spacing = found.spacing.clamp(1, WIDEST);
        let in_vain = found.width / spacing - found.jobs;
        if in_vain > ENTRIES_OF_A_SEARCH && spacing < self.spacing {
            return Self { spacing, misses: 0 };
        }
        match (found.is_too_narrow, self.misses + 1) {
            (false, _) => Self { misses: 0, ..self },
            (true, MISSES) => Self {
                spacing: spacing.max(self.spacing),
                misses: 0,
            },
            (true, misses) => Self { misses, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DENSE, Found, Likely, MARGIN, NEAR, WIDEST};

    fn claim(likely: Likely, spacing: i64) -> Likely {
        let width = likely.spacing * MARGIN + NEAR;
        likely.after(Found {
            spacing,
            jobs: 2,
            width,
            is_too_narrow: width < spacing,
        })
    }

    fn claims(of: impl IntoIterator<Item = i64>) -> Likely {
        of.into_iter().fold(DENSE, claim)
    }

    #[test]
    fn lanes_that_take_turns_are_looked_at_as_far_as_their_jobs_are_apart() {
        assert_eq!(claims([300; 4]).spacing, 300);
        assert_eq!(claims([i64::MAX; 4]).spacing, WIDEST);
    }

    #[test]
    fn a_dense_lane_is_not_read_farther_than_others_need_it() {
        assert_eq!(claims([300, 300, 300, 1, 300, 300, 300]), claims([300; 3]));
        let sparse = claims([300; 4]);
        assert_eq!(claim(sparse, 1).spacing, 1);
        assert_eq!(claim(sparse, 150).spacing, 300);
    }
}
