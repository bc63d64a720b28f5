//! The available rows of a lane by position, in ranges that become wider.
//!
//! A btree scan compares all entries of a page that fit, so one without an end near the row that is wanted pays for each job
//! of the lane on that page. The next job is seldom much farther behind the last one than that was behind the one before.

use crate::job::row::column;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use crate::table::{Order, Search, Table, Where};
use turnstile_scheduler::Picked;

/// The first range reaches so far behind the jobs that are wanted.
const NEAR: i64 = 16;
/// Each range is so many times as wide as the one before: to begin another one takes as long as to compare some sixty entries.
const WIDER: i64 = 64;
/// The last range but one is at most that wide: farther behind, the next job may be anywhere.
const WIDEST: i64 = 100_000;

pub struct LaneRows<'a> {
    found: Search<'a>,
    picked: &'a Picked,
    /// Positions that this transaction made available itself: they are passed over.
    own: &'a [i64],
    width: i64,
    /// Where the range ends.
    before: i64,
}

impl<'a> LaneRows<'a> {
    /// From the head of the lane on; so many jobs are likely to be read.
    pub fn of(jobs: &Table<'a>, picked: &'a Picked, most: usize, own: &'a [i64]) -> Result<Self> {
        let width = i64::try_from(most).unwrap_or(WIDEST).saturating_add(NEAR);
        let before = picked.head.saturating_add(width);
        let conditions = between(picked, picked.head, before);
        Ok(Self {
            found: jobs.search(Order::ByLane, &conditions)?,
            picked,
            own,
            width,
            before,
        })
    }

    pub fn next(&mut self) -> Option<RawRow<'_>> {
        loop {
            let position = match self.found.next() {
                Some(row) => row.int8(column::POSITION),
                None if self.before == i64::MAX || armed(Seeded::StopAfterRange) => return None,
                None => {
                    self.go_on();
                    continue;
                }
            };
            if position.is_some_and(|at| !self.own.contains(&at)) {
                return Some(self.found.current());
            }
        }
    }

    fn go_on(&mut self) {
        let from = self.before;
        self.width = self.width.saturating_mul(WIDER);
        self.before = match self.width > WIDEST {
            true => i64::MAX,
            false => from.saturating_add(self.width),
        };
        self.found.restart(&between(self.picked, from, self.before));
    }
}

fn between(picked: &Picked, from: i64, before: i64) -> [Where; 4] {
    [
        Where::Is(column::LANE_GROUP, picked.spec.group().cast_signed()),
        Where::Is(column::LANE, picked.spec.lane.cast_signed()),
        Where::From(column::POSITION, from),
        Where::Before(column::POSITION, before),
    ]
}
