//! What has failed, by kind and first line of the error: jobs that were discarded, going back in time until time is up, and runs that will be
//! repeated, as memory has the last of them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use super::super::readings::has_timed_out;
use super::super::value::Value;
use super::super::view::View;
use super::source::{Source, Statement, of_seen, parts};
use super::window::ENOUGH;
use crate::listener::Problem;

const DISCARDED: Statement = of_seen!("discarded", "grouped", "failures");
const FAILING: &str = parts!("failing_runs", "grouped", "failing");

/// Milliseconds. In a second, jobs end by the thousand where workers are many.
const FIRST: i64 = 1_000;
const SHORTEST: i64 = 250;
const LONGEST: i64 = 400 * 86_400_000;
const MOST_ENDED: i64 = 50_000;
const MOST_DISCARDED: i64 = 2_000;
/// A viewer who has so many before its eyes needs no more.
const MANY: i64 = 5_000;
/// Names of queues or tenants that a group has.
const NAMES: usize = 6;

#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Group {
    pub kind: String,
    /// The first line of the error. None: there is none, or the role may not see it.
    pub line: Option<String>,
    pub jobs: i64,
    pub first_at: f64,
    pub last_at: f64,
    /// The job that failed last.
    pub example: i64,
    /// Some of them.
    pub queues: Vec<String>,
    pub tenants: Vec<String>,
}

pub struct Discarded {
    /// Most jobs first.
    pub groups: Vec<Group>,
    /// How far back the look went. None: as far as the history goes.
    pub since: Option<f64>,
    /// So many failed at a time that not all were looked at.
    pub is_sample: bool,
}

#[derive(Deserialize)]
struct Looked {
    ended: i64,
    discarded: i64,
    groups: Vec<Group>,
}

pub async fn discarded(view: &View) -> Result<Discarded, Problem> {
    let source = Source::of(view, false).await?;
    // The first look tells how busy the server is.
    let mut later = view.clone();
    let began = std::time::Instant::now();
    let mut all = Groups::default();
    let mut is_sample = false;
    // Whole seconds, so that viewers of the same moment ask the same.
    let now = (view.now().ceil() as i64).saturating_mul(1_000);
    let mut end = now;
    let mut span = FIRST;
    let since = loop {
        let start = end.saturating_sub(span).max(now - LONGEST);
        let asked = std::time::Instant::now();
        let looked = match look(&later, source, start, end).await {
            Ok(looked) => looked,
            Err(problem) if has_timed_out(&problem) && end < now => {
                if span > SHORTEST && began.elapsed() < ENOUGH {
                    span = (span / 8).max(SHORTEST);
                    continue;
                }
                // Far more has ended before than after, of others whose jobs the role may not see.
                break Some(end as f64 / 1_000.0);
            }
            Err(problem) => return Err(problem),
        };
        if end == now {
            later = view.within(limit_after(asked.elapsed()));
        }
        let is_too_much = looked.ended >= MOST_ENDED || looked.discarded > MOST_DISCARDED;
        if is_too_much && span > SHORTEST && began.elapsed() < ENOUGH {
            span = (span / 8).max(SHORTEST);
            continue;
        }
        is_sample |= is_too_much;
        all.add(looked.groups);
        end = start;
        if end <= now - LONGEST {
            break None;
        }
        if began.elapsed() >= ENOUGH || all.jobs >= MANY {
            break Some(end as f64 / 1_000.0);
        }
        span = match asked.elapsed() {
            took if took < ENOUGH / 15 => span.saturating_mul(4),
            took if took < ENOUGH / 5 => span.saturating_mul(2),
            _ => span,
        };
    };
    Ok(Discarded {
        groups: all.sorted(),
        since,
        is_sample,
    })
}

/// How long a later look may take, in steps so that viewers who look at the same time ask for the same.
fn limit_after(first: Duration) -> Duration {
    let mut limit = ENOUGH;
    while limit < first * 20 && limit < ENOUGH * 8 {
        limit *= 2;
    }
    limit
}

/// Runs that failed and will be repeated. None: the role may not know of them.
pub async fn failing(view: &View) -> Result<Option<Vec<Group>>, Problem> {
    if !view.can.calls("recent_failures") || view.can.in_recovery {
        return Ok(None);
    }
    match view.rows(FAILING, &[]).await {
        Ok(groups) => Ok(Some(groups)),
        Err(problem) if problem.code() == Some("42501") => Ok(None),
        Err(problem) => Err(problem),
    }
}

async fn look(view: &View, source: Source, start: i64, end: i64) -> Result<Looked, Problem> {
    let arguments = [
        Value::from(start),
        Value::from(end),
        Value::from(MOST_ENDED),
        Value::from(MOST_DISCARDED),
    ];
    let found = view.row(DISCARDED.of(source), &arguments).await?;
    found.ok_or_else(Problem::of_another_version)
}

#[derive(Default)]
struct Groups {
    jobs: i64,
    by_cause: BTreeMap<(String, Option<String>), Group>,
}

impl Groups {
    fn add(&mut self, groups: Vec<Group>) {
        for group in groups {
            self.jobs += group.jobs;
            let cause = (group.kind.clone(), group.line.clone());
            match self.by_cause.get_mut(&cause) {
                Some(known) => known.add(group),
                None => {
                    self.by_cause.insert(cause, group);
                }
            }
        }
    }

    fn sorted(self) -> Vec<Group> {
        let mut groups: Vec<Group> = self.by_cause.into_values().collect();
        groups.sort_by(|one, other| {
            let jobs = other.jobs.cmp(&one.jobs);
            jobs.then(other.last_at.total_cmp(&one.last_at))
        });
        groups
    }
}

impl Group {
    fn add(&mut self, other: Group) {
        self.jobs += other.jobs;
        self.first_at = self.first_at.min(other.first_at);
        if other.last_at > self.last_at {
            self.last_at = other.last_at;
            self.example = other.example;
        }
        join(&mut self.queues, other.queues);
        join(&mut self.tenants, other.tenants);
    }
}

fn join(names: &mut Vec<String>, others: Vec<String>) {
    for name in others {
        if names.len() < NAMES && !names.contains(&name) {
            names.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(kind: &str, jobs: i64, last_at: f64, tenant: &str) -> Group {
        Group {
            kind: kind.to_owned(),
            line: Some("timeout".to_owned()),
            jobs,
            first_at: last_at - 1.0,
            last_at,
            example: last_at as i64,
            queues: vec!["mail".to_owned()],
            tenants: vec![tenant.to_owned()],
        }
    }

    #[test]
    fn groups_of_all_windows_are_one() {
        let mut all = Groups::default();
        all.add(vec![group("a", 2, 50.0, "x"), group("b", 3, 40.0, "x")]);
        all.add(vec![group("a", 5, 30.0, "y"), group("a", 1, 60.0, "x")]);
        assert_eq!(all.jobs, 11);
        let sorted = all.sorted();
        assert_eq!(
            sorted,
            [
                Group {
                    jobs: 8,
                    first_at: 29.0,
                    last_at: 60.0,
                    example: 60,
                    tenants: vec!["x".to_owned(), "y".to_owned()],
                    ..group("a", 0, 0.0, "")
                },
                group("b", 3, 40.0, "x"),
            ]
        );
    }
}
