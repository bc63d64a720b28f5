//! Figures of the last hour, for charts. The server keeps none of the past, so this program reads some every few seconds.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::identity::Access;
use super::readings;
use super::value::Value;
use crate::top::percentiles::{Percentiles, difference, percentiles};

const SAMPLE: &str = include_str!("sql/series.sql");
const PACE: Duration = Duration::from_secs(5);
/// A standby counts its figures in tables, so that there it rests for so many times as long as that took.
const REST: u32 = 9;
/// An hour.
const KEPT: usize = 720;
const QUEUES: i64 = 8;
/// Percentiles are of what started in so many samples.
const WINDOW: usize = 12;
/// Where the login of this program may not read figures, a viewer's does, for so long after the last visit.
const LENT: Duration = Duration::from_secs(900);
const LONGEST_REST: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Deserialize)]
pub struct Sample {
    /// Seconds since 1970.
    pub at: f64,
    pub totals: Totals,
    /// The jobs that wait in the busiest queues.
    pub queues: Vec<(String, i64)>,
    /// Runs that have failed since statistics began.
    failed: i64,
    /// Jobs that have started, by how long they had waited.
    waits: Vec<i64>,
    bounds_ms: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Totals {
    pub waiting: i64,
    pub claimed_per_minute: i64,
    pub finished_per_minute: i64,
}

#[derive(Default)]
pub struct Series {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    samples: VecDeque<Arc<Sample>>,
    lent: Option<(Instant, Access)>,
}

impl Series {
    /// For ever. `own`: the login of this program.
    pub async fn sample(&self, own: &Access) {
        let mut refused: Option<(Instant, Duration)> = None;
        loop {
            let began = Instant::now();
            if refused.is_none_or(|(at, rest)| at.elapsed() >= rest) {
                refused = match self.take(own).await {
                    true => None,
                    false => Some((Instant::now(), rest_after(refused.map(|(_, rest)| rest)))),
                };
            }
            if refused.is_some()
                && let Some(lent) = self.lent()
            {
                self.take(&lent).await;
            }
            tokio::time::sleep(PACE.max(began.elapsed() * REST)).await;
        }
    }

    /// The access of a viewer who reads figures.
    pub fn lend(&self, access: &Access) {
        self.lock().lent = Some((Instant::now(), access.clone()));
    }

    /// The oldest first.
    pub fn samples(&self) -> Vec<Arc<Sample>> {
        self.lock().samples.iter().cloned().collect()
    }

    async fn take(&self, access: &Access) -> bool {
        let rows = readings::ask(access, SAMPLE, &[Value::from(QUEUES)]).await;
        let sample = rows
            .ok()
            .and_then(|rows| serde_json::from_str(rows.first()?).ok());
        let Some(sample) = sample else { return false };
        add(&mut self.lock().samples, sample);
        true
    }

    fn lent(&self) -> Option<Access> {
        let state = self.lock();
        let (at, access) = state.lent.as_ref()?;
        (at.elapsed() < LENT).then(|| access.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves a whole state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In the order of time: where the clock of the server was set back, or another server goes on, what is later than that is forgotten.
fn add(samples: &mut VecDeque<Arc<Sample>>, sample: Sample) {
    while samples.back().is_some_and(|last| last.at >= sample.at) {
        samples.pop_back();
    }
    samples.push_back(Arc::new(sample));
    while samples.len() > KEPT {
        samples.pop_front();
    }
}

/// A program that has no login of its own would fill the logs, of the server and its own, with a refusal every few seconds.
fn rest_after(last: Option<Duration>) -> Duration {
    last.map_or(PACE, |last| (last * 2).min(LONGEST_REST))
}

/// How long jobs had waited that started in the minute before each sample, with the time of the sample.
pub fn waits(samples: &[Arc<Sample>]) -> Vec<(f64, Percentiles)> {
    minutes(samples)
        .map(|(before, after)| {
            let started = difference(&after.waits, &before.waits);
            (after.at, percentiles(&started, &after.bounds_ms))
        })
        .collect()
}

/// Runs that failed in the minute before each sample, with the time of the sample.
pub fn failures(samples: &[Arc<Sample>]) -> Vec<(f64, f64)> {
    minutes(samples)
        .map(|(before, after)| {
            // Statistics that were reset begin anew.
            let failed = match after.failed - before.failed {
                negative if negative < 0 => after.failed,
                failed => failed,
            };
            let minutes = (after.at - before.at) / 60.0;
            (after.at, failed as f64 / minutes.max(f64::EPSILON))
        })
        .collect()
}

/// Each sample, with that of about a minute before it.
fn minutes(samples: &[Arc<Sample>]) -> impl Iterator<Item = (&Sample, &Sample)> {
    let before = samples.iter().map(Arc::as_ref);
    let after = samples.iter().skip(WINDOW).map(Arc::as_ref);
    before.zip(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: f64, failed: i64) -> Arc<Sample> {
        let totals = Totals {
            waiting: 0,
            claimed_per_minute: 0,
            finished_per_minute: 0,
        };
        Arc::new(Sample {
            at,
            totals,
            queues: Vec::new(),
            failed,
            waits: Vec::new(),
            bounds_ms: Vec::new(),
        })
    }

    #[test]
    fn failures_are_those_of_a_minute() {
        let mut samples: Vec<Arc<Sample>> = (0..14)
            .map(|at| sample(f64::from(at) * 5.0, i64::from(at)))
            .collect();
        assert_eq!(failures(&samples), [(60.0, 12.0), (65.0, 12.0)]);
        samples.push(sample(70.0, 1));
        assert_eq!(failures(&samples).last(), Some(&(70.0, 1.0)));
        assert_eq!(failures(samples.get(..5).unwrap()), []);
    }

    #[test]
    fn a_login_that_is_refused_is_tried_ever_less_often() {
        let rests: Vec<u64> =
            std::iter::successors(Some(rest_after(None)), |last| Some(rest_after(Some(*last))))
                .map(|rest| rest.as_secs())
                .take(6)
                .collect();
        assert_eq!(rests, [5, 10, 20, 40, 60, 60]);
    }

    #[test]
    fn time_goes_on_in_one_direction() {
        let mut samples = VecDeque::new();
        let whole = |at| Arc::unwrap_or_clone(sample(at, 0));
        for at in [10.0, 15.0, 20.0, 12.0, 17.0, 17.0] {
            add(&mut samples, whole(at));
        }
        let times: Vec<f64> = samples.iter().map(|sample| sample.at).collect();
        assert_eq!(times, [10.0, 12.0, 17.0]);
        for at in 0..KEPT * 2 {
            add(&mut samples, whole(100.0 + at as f64));
        }
        assert_eq!(samples.len(), KEPT);
    }
}
