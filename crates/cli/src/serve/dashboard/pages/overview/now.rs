//! The sums of all queues as tiles.

use maud::Markup;
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::number::{grouped, short};
use crate::serve::dashboard::html::stat::{Tile, tiles};
use crate::serve::dashboard::html::time::span_text;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::pages::parts::past::Past;
use crate::serve::dashboard::view::View;

const OVERVIEW: &str = include_str!("../../sql/overview.sql");

#[derive(Debug, Deserialize)]
pub struct Now {
    pub totals: Totals,
    pub ended: Ended,
    pub memory: Memory,
    pub workers: Workers,
    /// Seconds since 1970.
    pub history_until: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Totals {
    pub running: i64,
    pub waiting: i64,
    pub scheduled: i64,
    pub retryable: i64,
    pub blocked: i64,
    pub claimed_per_minute: i64,
    pub finished_per_minute: i64,
    pub oldest_seconds: Option<f64>,
}

/// Since statistics began.
#[derive(Debug, Deserialize)]
pub struct Ended {
    pub started: i64,
    pub failed: i64,
    pub since: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Memory {
    pub bytes: Option<i64>,
    pub bytes_limit: Option<i64>,
    pub lanes_outside: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct Workers {
    pub lately: i64,
    pub last_seen: Option<f64>,
}

pub async fn read(view: &View) -> Result<Now, Problem> {
    let now = view.row(OVERVIEW, &[]).await?;
    now.ok_or_else(Problem::of_another_version)
}

pub fn shown(view: &View, now: &Now, past: &Past) -> Markup {
    let Totals {
        running,
        waiting,
        scheduled,
        retryable,
        blocked,
        claimed_per_minute,
        finished_per_minute,
        oldest_seconds,
    } = now.totals;
    let jobs = |state: &str| {
        let link = view.link("/jobs").with("state", state);
        view.can.jobs().then(|| link.text())
    };
    let workers = now.workers.lately;
    let seen = format!(
        "{} {} claim",
        grouped(workers),
        if workers == 1 { "worker" } else { "workers" }
    );
    let plain = |label, value: i64| Tile {
        label,
        value: grouped(value),
        ..Tile::default()
    };
    tiles(&[
        Tile {
            note: Some(seen),
            href: jobs("running"),
            ..plain("Running", running)
        },
        Tile {
            note: Some(oldest_seconds.map_or("none is due".to_owned(), |seconds| {
                format!("oldest {}", span_text(seconds))
            })),
            href: jobs("available"),
            ..plain("Waiting", waiting)
        },
        Tile {
            unit: "/min",
            ..plain("Started", claimed_per_minute)
        },
        Tile {
            unit: "/min",
            ..plain("Finished", finished_per_minute)
        },
        wait(past),
        failed(view, now, past),
        Tile {
            note: Some(format!(
                "{} to retry, {} blocked",
                grouped(retryable),
                grouped(blocked)
            )),
            href: jobs("scheduled").filter(|_| scheduled > 0),
            ..plain("Scheduled", scheduled)
        },
    ])
}

/// Of what started in the last minute.
fn wait(past: &Past) -> Tile<'static> {
    let [p50, p95] = past.waits();
    let last = |points: &[(f64, Option<f64>)]| points.last().and_then(|(_, seconds)| *seconds);
    let (value, unit) = last(&p95).map_or(("–".to_owned(), ""), in_one_unit);
    Tile {
        label: "Wait p95",
        value,
        unit,
        note: Some(match last(&p50) {
            Some(seconds) => format!("p50 {}", span_text(seconds)),
            None if p50.is_empty() => "collecting figures".to_owned(),
            None => "nothing started".to_owned(),
        }),
        ..Tile::default()
    }
}

/// Of the last minute, or of all while less than a minute is known.
fn failed(view: &View, now: &Now, past: &Past) -> Tile<'static> {
    let Ended {
        started,
        failed,
        since,
    } = now.ended;
    let so_far = if started == 0 {
        "none so far".to_owned()
    } else {
        let part = failed as f64 / started as f64;
        let span = since.map_or(0.0, |since| view.now() - since);
        format!(
            "{} in {}, {}% of runs",
            grouped(failed),
            coarse(span),
            short((part * 1_000.0).round() / 10.0)
        )
    };
    let known = past.failures().last().and_then(|(_, failed)| *failed);
    let tile = Tile {
        label: "Failed runs",
        href: view.can.jobs().then(|| view.link("/failures").text()),
        ..Tile::default()
    };
    let Some(per_minute) = known else {
        return Tile {
            value: grouped(failed),
            note: Some(so_far),
            ..tile
        };
    };
    let is_much = is_much(per_minute, now.totals.claimed_per_minute);
    Tile {
        value: grouped(per_minute.round() as i64),
        unit: "/min",
        note: Some(so_far),
        tone: if is_much { Tone::Warn } else { Tone::Plain },
        ..tile
    }
}

/// In words, where so many runs fail that it needs attention: in the last minute, or at all while less than a minute is known.
pub fn failing(view: &View, now: &Now, past: &Past) -> Option<String> {
    let runs = |failed: i64| match failed {
        1 => "1 run".to_owned(),
        _ => format!("{} runs", grouped(failed)),
    };
    let Some(per_minute) = past.failures().last().and_then(|(_, failed)| *failed) else {
        let Ended {
            started,
            failed,
            since,
        } = now.ended;
        let span = coarse(since.map_or(0.0, |since| view.now() - since));
        return is_much(failed as f64, started).then(|| {
            format!(
                "{} failed in the last {span}, of {} that started",
                runs(failed),
                grouped(started)
            )
        });
    };
    let started = now.totals.claimed_per_minute;
    is_much(per_minute, started).then(|| {
        format!(
            "{} failed in the last minute, in which {} started",
            runs(per_minute.round() as i64),
            grouped(started)
        )
    })
}

/// More than one of ten.
fn is_much(failed: f64, started: i64) -> bool {
    failed >= 10.0 && failed * 10.0 > started as f64
}

/// 340 ms, 4.2 s, 26.6 min, 3.1 h
fn in_one_unit(seconds: f64) -> (String, &'static str) {
    let (size, unit) = match seconds {
        _ if seconds < 1.0 => (0.001, "ms"),
        _ if seconds < 120.0 => (1.0, "s"),
        _ if seconds < 7_200.0 => (60.0, "min"),
        _ => (3_600.0, "h"),
    };
    (short((seconds / size * 10.0).round() / 10.0), unit)
}

/// 21 min, 3 h, 9 d: so that the page does not change with each second.
fn coarse(seconds: f64) -> String {
    let unit = match seconds {
        _ if seconds < 60.0 => 1.0,
        _ if seconds < 3_600.0 => 60.0,
        _ if seconds < 172_800.0 => 3_600.0,
        _ => 86_400.0,
    };
    span_text((seconds / unit).floor().max(0.0) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_has_one_unit() {
        let told = |seconds| {
            let (value, unit) = in_one_unit(seconds);
            format!("{value} {unit}")
        };
        assert_eq!(told(0.34), "340 ms");
        assert_eq!(told(4.21), "4.2 s");
        assert_eq!(told(1_598.0), "26.6 min");
        assert_eq!(told(11_000.0), "3.1 h");
    }

    #[test]
    fn one_of_ten_is_much() {
        assert!(is_much(11.0, 100) && !is_much(10.0, 100));
        assert!(!is_much(9.0, 9));
    }

    #[test]
    fn long_times_are_told_in_one_unit() {
        assert_eq!(coarse(59.9), "59\u{a0}s");
        assert_eq!(coarse(1_302.0), "21\u{a0}min");
        assert_eq!(coarse(100_000.0), "1\u{a0}d 3\u{a0}h");
        assert_eq!(coarse(800_000.0), "9\u{a0}d");
        assert_eq!(coarse(-1.0), "0\u{a0}ms");
    }
}
