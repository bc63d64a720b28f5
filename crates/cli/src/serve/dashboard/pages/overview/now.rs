//! The sums of all queues as tiles.

use maud::Markup;
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::number::{grouped, short};
use crate::serve::dashboard::html::stat::{Tile, tiles};
use crate::serve::dashboard::html::time::span_text;
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
    pub discarded: i64,
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
    pub known: i64,
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
        "{} {} claimed lately",
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
        failed(view, &now.ended),
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
    Tile {
        label: "Wait p95",
        value: last(&p95).map_or("–".to_owned(), span_text),
        note: Some(match last(&p50) {
            Some(seconds) => format!("p50 {}, last minute", span_text(seconds)),
            None => "last minute".to_owned(),
        }),
        ..Tile::default()
    }
}

fn failed(view: &View, ended: &Ended) -> Tile<'static> {
    let part = if ended.started > 0 {
        ended.failed as f64 / ended.started as f64 * 100.0
    } else {
        0.0
    };
    let since = ended.since.map_or("ever".to_owned(), |since| {
        span_text((view.now() - since).max(0.0).round())
    });
    Tile {
        label: "Failed runs",
        value: grouped(ended.failed),
        note: Some(format!(
            "{}% in {since}, {} jobs discarded",
            short((part * 10.0).round() / 10.0),
            grouped(ended.discarded)
        )),
        href: view
            .can
            .jobs()
            .then(|| view.link("/failures").text()),
        ..Tile::default()
    }
}
