//! The available rows of a lane by position, in ranges that become wider.
//!
//! A btree scan compares all entries of a page that fit, so one without an end near the row that is wanted pays for each job
//! of the lane on that page. How far the next job is behind the last one depends on how many lanes take turns.

use crate::job::column;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::tuple::RawRow;
use crate::table::{Order, Search, Table, Where};
use std::cell::Cell;
use turnstile_scheduler::{Looked, Picked, Spacing, end_of_range, wider};

thread_local! {
    static LIKELY: Cell<Spacing> = const { Cell::new(Spacing::DENSE) };
}

pub struct LaneRows<'a> {
    found: Search<'a>,
    picked: &'a Picked,
    /// Positions that this transaction made available itself: they are passed over.
    own: &'a [i64],
    first_width: i64,
    width: i64,
    /// Where the range ends.
    before: i64,
    /// The first and the last position that were found, and how many.
    seen: Option<(i64, i64, i64)>,
    is_at_end: bool,
}

impl<'a> LaneRows<'a> {
    /// From the head of the lane on; so many jobs are likely to be read.
    pub fn of(jobs: &Table<'a>, picked: &'a Picked, most: usize, own: &'a [i64]) -> Result<Self> {
        let width = LIKELY.get().likely_width(most);
        let before = end_of_range(picked.head, width);
        let conditions = between(picked, picked.head, before);
        Ok(Self {
            found: jobs.search(Order::ByLane, &conditions)?,
            picked,
            own,
            first_width: width,
            width,
            before,
            seen: None,
            is_at_end: false,
        })
    }

    pub fn next(&mut self) -> Result<Option<RawRow<'_>>> {
        loop {
            let position = match self.found.next() {
                Some(row) => row.int8(column::POSITION),
                None if self.before == i64::MAX || armed(Seeded::StopAfterRange) => {
                    self.is_at_end = true;
                    return Ok(None);
                }
                None => {
                    self.go_on()?;
                    continue;
                }
            };
            let Some(at) = position else {
                continue;
            };
            let (first, _, count) = self.seen.unwrap_or((at, at, 0));
            self.seen = Some((first, at, count + 1));
            if !self.own.contains(&at) {
                return Ok(Some(self.found.current()));
            }
        }
    }

    fn go_on(&mut self) -> Result<()> {
        let from = self.before;
        self.width = wider(self.width);
        self.before = end_of_range(from, self.width);
        self.found.restart(&between(self.picked, from, self.before))
    }
}

impl Drop for LaneRows<'_> {
    fn drop(&mut self) {
        let Some((first, last, jobs)) = self.seen else {
            return;
        };
        let apart = match (self.is_at_end, jobs) {
            (true, _) => i64::MAX,
            (false, 1) => return,
            // Jobs that are one or two apart are not found in a range for jobs that are one apart.
            (false, _) => {
                let apart = last.abs_diff(first).div_ceil((jobs - 1).unsigned_abs());
                i64::try_from(apart).unwrap_or(i64::MAX)
            }
        };
        LIKELY.set(LIKELY.get().after(Looked {
            apart,
            jobs,
            width: self.first_width,
            is_too_narrow: self.width > self.first_width,
        }));
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
