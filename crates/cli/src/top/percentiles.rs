//! Percentiles of waits and runs: of the last minute, from what the server's histograms had a minute ago, or since they began.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::figures::{Gate, Times};

const MINUTE: Duration = Duration::from_secs(60);
/// However often figures are read, so that a minute of them stays small.
const KEPT_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Spans {
    pub wait: Percentiles,
    pub run: Percentiles,
}

pub fn since_reset(gate: &Gate) -> Spans {
    let told = |times: &Times| Percentiles {
        p50: times.p50_ms,
        p95: times.p95_ms,
        p99: times.p99_ms,
    };
    gate.statistics
        .as_ref()
        .map(|statistics| Spans {
            wait: told(&statistics.wait),
            run: told(&statistics.run),
        })
        .unwrap_or_default()
}

// ---- The last minute ------------------------------------------------------------------------------

struct Counts {
    wait: Vec<i64>,
    run: Vec<i64>,
}

/// The histograms of one subject as they were.
#[derive(Default)]
pub struct Minute {
    readings: VecDeque<(Instant, HashMap<String, Counts>)>,
}

impl Minute {
    pub fn keep(&mut self, now: Instant, gates: &[Gate]) {
        if self
            .readings
            .back()
            .is_some_and(|(last, _)| now.duration_since(*last) < KEPT_EVERY)
        {
            return;
        }
        let counts = gates.iter().filter_map(|gate| {
            let statistics = gate.statistics.as_ref()?;
            Some((
                gate.name.clone(),
                Counts {
                    wait: statistics.wait.counts.clone(),
                    run: statistics.run.counts.clone(),
                },
            ))
        });
        self.readings.push_back((now, counts.collect()));
        while self
            .readings
            .get(1)
            .is_some_and(|(second, _)| now.duration_since(*second) >= MINUTE)
        {
            self.readings.pop_front();
        }
    }

    /// What came since the oldest reading that is kept. A name that was not there then began with zero.
    pub fn of(&self, gate: &Gate, bounds: &[f64]) -> Spans {
        let (Some((_, before)), Some(statistics)) =
            (self.readings.front(), gate.statistics.as_ref())
        else {
            return Spans::default();
        };
        let before = before.get(&gate.name);
        let since = |now: &[i64], then: Option<&[i64]>| {
            percentiles(&difference(now, then.unwrap_or_default()), bounds)
        };
        Spans {
            wait: since(
                &statistics.wait.counts,
                before.map(|counts| counts.wait.as_slice()),
            ),
            run: since(
                &statistics.run.counts,
                before.map(|counts| counts.run.as_slice()),
            ),
        }
    }
}

/// Counts that fell were reset meanwhile: what is there came since.
pub fn difference(now: &[i64], then: &[i64]) -> Vec<i64> {
    let before = then.iter().copied().chain(std::iter::repeat(0));
    let differences: Vec<i64> = now
        .iter()
        .zip(before)
        .map(|(now, then)| now - then)
        .collect();
    if differences.iter().any(|difference| *difference < 0) {
        now.to_vec()
    } else {
        differences
    }
}

// ---- Histograms -----------------------------------------------------------------------------------

pub fn percentiles(counts: &[i64], bounds: &[f64]) -> Percentiles {
    Percentiles {
        p50: percentile(counts, bounds, 0.50),
        p95: percentile(counts, bounds, 0.95),
        p99: percentile(counts, bounds, 0.99),
    }
}

/// As the server does it: the values of a bucket are taken to be spread evenly.
fn percentile(counts: &[i64], bounds: &[f64], part: f64) -> Option<f64> {
    let total: i64 = counts.iter().sum();
    let wanted = part * total as f64;
    let mut below = 0.0;
    let mut lower = 0.0;
    for (at, count) in counts.iter().enumerate().filter(|_| total > 0) {
        let count = *count as f64;
        let upper = bounds.get(at).copied().unwrap_or(lower);
        if count > 0.0 && below + count >= wanted {
            return Some(lower + (upper - lower) * (wanted - below) / count);
        }
        below += count;
        lower = upper;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: [f64; 3] = [10.0, 20.0, 50.0];

    #[test]
    fn a_bucket_is_spread_evenly() {
        assert_eq!(percentile(&[0, 4, 0, 0], &BOUNDS, 0.5), Some(15.0));
        assert_eq!(percentile(&[1, 1, 0, 0], &BOUNDS, 0.5), Some(10.0));
        assert_eq!(percentile(&[0, 0, 0, 3], &BOUNDS, 0.99), Some(50.0));
        assert_eq!(percentile(&[0, 0, 0, 0], &BOUNDS, 0.5), None);
    }

    #[test]
    fn counts_that_fell_begin_anew() {
        assert_eq!(difference(&[5, 7], &[4, 7]), [1, 0]);
        assert_eq!(difference(&[5, 2], &[4, 7]), [5, 2]);
        assert_eq!(difference(&[5, 2], &[]), [5, 2]);
    }

    fn gate(counts: &[i64]) -> Gate {
        let times = Times {
            counts: counts.to_vec(),
            ..Times::default()
        };
        let value = serde_json::json!({
            "name": "mail", "paused": false, "running": 0, "waiting": 0, "scheduled": 0, "retryable": 0, "blocked": 0,
            "claimed_per_minute": 0, "finished_per_minute": 0,
            "statistics": {
                "enqueued": 0, "started": 0, "completed": 0, "failed": 0, "retried": 0, "discarded": 0, "cancelled": 0,
                "rescued": 0, "wait": times, "run": times
            }
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn only_the_last_minute_counts() {
        let began = Instant::now();
        let mut minute = Minute::default();
        for (after, counts) in [
            (0, [100, 0, 0, 0]),
            (30, [100, 10, 0, 0]),
            (61, [100, 10, 0, 0]),
            (95, [100, 10, 4, 0]),
        ] {
            minute.keep(began + Duration::from_secs(after), &[gate(&counts)]);
        }
        let spans = minute.of(&gate(&[100, 10, 4, 0]), &BOUNDS);
        assert_eq!(spans.wait.p50, Some(35.0));
        assert_eq!(spans.run, spans.wait);
    }
}
