//! When a job recurs, in a time zone. Times are microseconds of PostgreSQL's epoch.
//!
//! Where a clock is set forward, the local times in between do not exist: what was due at one of them fires at the moment of the
//! change. Where it is set back, some exist twice: the first counts. A pattern of each hour goes on as if no clock were set.

use super::pattern::{Pattern, never_fires};
use crate::pg::error::{Failure, Result, bad_value, quoted};
use crate::pg::server::SECOND;
use crate::pg::zone::Zone;

const UTC: &str = "UTC";
const DAY: i64 = 86_400;
/// More changes of a clock than a search meets.
const MOST_CHANGES: usize = 64;
/// How far back the last firing is looked for, in steps.
const LOOKS_BACK: [i64; 5] = [60, 3_600, DAY, 40 * DAY, 400 * DAY];

pub struct Times {
    pattern: Pattern,
    zone: Zone,
}

impl Times {
    /// Without a time zone, times are UTC.
    pub fn of(cron: &str, zone: Option<&str>) -> Result<Self> {
        let name = zone.unwrap_or(UTC);
        let pattern = Pattern::parse(cron)?;
        let zone = Zone::named(name).ok_or_else(|| unknown_zone(name))?;
        let times = Self { pattern, zone };
        match times.pattern.next(0) {
            Some(_) => Ok(times),
            None => Err(never_fires(cron)),
        }
    }

    /// The first firing after a time.
    pub fn next(&self, after: i64) -> Option<i64> {
        let after = after.div_euclid(SECOND);
        let next = match self.pattern.is_each_hour {
            true => self.next_of_each_hour(after),
            false => self.next_on_clock(after),
        };
        next?.checked_mul(SECOND)
    }

    /// The last firing up to `until`, where `first` is one of those.
    pub fn last(&self, first: i64, until: i64) -> i64 {
        let looks = LOOKS_BACK.map(|back| until.saturating_sub(back.saturating_mul(SECOND)));
        let later = looks.into_iter().filter(|&from| from > first);
        later
            .chain([first])
            .find_map(|from| self.firings(from, until).last())
            .unwrap_or(first)
    }

    /// Those after a time, up to another.
    pub fn firings(&self, after: i64, until: i64) -> impl Iterator<Item = i64> {
        std::iter::successors(self.next(after), |&last| self.next(last))
            .take_while(move |&firing| firing <= until)
    }

    fn next_on_clock(&self, after: i64) -> Option<i64> {
        let mut local = after.checked_add(self.zone.offset(after))?;
        loop {
            local = self.pattern.next(local)?;
            let time = self.first_at(local);
            if time > after {
                return Some(time);
            }
        }
    }

    /// When a clock shows this for the first time; where it never does, when it is set past it.
    fn first_at(&self, local: i64) -> i64 {
        let before = self.zone.offset(local.saturating_sub(DAY));
        let behind = self.zone.offset(local.saturating_add(DAY));
        let [early, late] = [before, behind].map(|offset| local.saturating_sub(offset));
        if self.zone.offset(early) == before {
            return early;
        }
        if self.zone.offset(late) == behind {
            return late;
        }
        self.change(late.min(early), early.max(late), before)
    }

    fn next_of_each_hour(&self, after: i64) -> Option<i64> {
        let (mut from, mut offset) = (after, self.zone.offset(after));
        for _ in 0..MOST_CHANGES {
            let time = self.pattern.next(from.checked_add(offset)?)? - offset;
            if self.zone.offset(time) == offset {
                return Some(time);
            }
            // Nothing fires before the day of `time`, and a day has one change.
            if time.saturating_sub(from) > 2 * DAY {
                from = time.saturating_sub(2 * DAY);
                offset = self.zone.offset(from);
                continue;
            }
            let change = self.change(from, time, offset);
            from = change.saturating_sub(1);
            offset = self.zone.offset(change);
        }
        None
    }

    /// The first second of (from, to] in which the clock is not ahead of UTC by `offset` any more, as it is at `from`.
    fn change(&self, from: i64, to: i64, offset: i64) -> i64 {
        let (mut before, mut behind) = (from, to);
        while behind.saturating_sub(before) > 1 {
            let middle = before + (behind - before) / 2;
            match self.zone.offset(middle) == offset {
                true => before = middle,
                false => behind = middle,
            }
        }
        behind
    }
}

fn unknown_zone(name: &str) -> Failure {
    bad_value("unknown time zone")
        .detail(format!("The server knows no time zone {}.", quoted(name)))
        .hint("pg_timezone_names has the names, such as Europe/Berlin.")
}
