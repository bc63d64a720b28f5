//! When a job recurs, without a time zone: five fields, or a name such as `@daily`.

use super::civil::LocalTime;
use crate::pg::error::{Failure, bad_value, quoted};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

/// More than any pattern needs.
const LONGEST: usize = 1_000;
const DAY_OF_MONTH: usize = 2;
const HINT: &str = "Use five fields: minute, hour, day of month, month, day of week; for example '*/5 * * * *', or @hourly, @daily, @weekly, @monthly, @yearly.";

pub struct Pattern {
    cron: Cron,
    /// It goes by time that has passed, and not by what a clock shows.
    pub is_each_hour: bool,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, Failure> {
        if text.len() > LONGEST {
            return Err(refused(text, "It is too long."));
        }
        let fields = fields(text);
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser
            .parse(&fields.join(" "))
            .map_err(|why| refused(text, &why.to_string()))?;
        let is_each_hour = match fields.as_slice() {
            [name] => name.eq_ignore_ascii_case("@hourly"),
            [_, hour, ..] => matches!(*hour, "*" | "*/1"),
            [] => false,
        };
        Ok(Self { cron, is_each_hour })
    }

    /// The first time after another, both in seconds on a local clock. None: there is none.
    pub fn next(&self, after: i64) -> Option<i64> {
        let found = self.cron.find_next_occurrence(&LocalTime(after), false);
        found.ok().map(|time| time.0)
    }
}

/// As the parser reads them. pg_cron, whose patterns earlier releases took, writes the last day of a month as `$`.
fn fields(text: &str) -> Vec<&str> {
    let read = |(nth, field)| match (nth, field) {
        (DAY_OF_MONTH, "$") => "L",
        (0, name) if name.eq_ignore_ascii_case("@midnight") => "@daily",
        (_, field) => field,
    };
    text.split_whitespace().enumerate().map(read).collect()
}

fn refused(text: &str, why: &str) -> Failure {
    bad_value("invalid schedule")
        .detail(format!("It is {}. {why}", quoted(text)))
        .hint(HINT)
}

pub fn never_fires(text: &str) -> Failure {
    bad_value("a recurring job would never fire")
        .detail(format!("No time matches {}.", quoted(text)))
        .hint("Choose a day of the month that the month has.")
}
