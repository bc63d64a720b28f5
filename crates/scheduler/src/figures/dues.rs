//! When jobs were due, to the second.

use crate::times::SECOND;
use smallvec::SmallVec;

/// Times before the server's epoch count as its first second.
pub(super) fn second_of(time: i64) -> u32 {
    let second = time.div_euclid(SECOND);
    u32::try_from(second.max(0)).unwrap_or(u32::MAX)
}

pub(super) fn time_of(second: u32) -> i64 {
    i64::from(second) * SECOND
}

/// How many jobs were due in which second. A transaction that changes many jobs often changes those of the same second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dues(pub(super) SmallVec<[(u32, i32); 2]>);

impl Dues {
    pub fn extend(&mut self, due: Option<i64>) {
        due.into_iter().for_each(|due| self.add(due, 1));
    }

    pub fn add(&mut self, due: i64, jobs: i32) {
        let second = second_of(due);
        match self.0.last_mut() {
            Some((last, number)) if *last == second => *number = number.saturating_add(jobs),
            _ => self.0.push((second, jobs)),
        }
    }

    pub fn first(&self) -> Option<i64> {
        let seconds = self.0.iter().map(|&(second, _)| second);
        seconds.min().map(time_of)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
