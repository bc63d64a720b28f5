//! What has become of the jobs of a queue or a tenant since statistics began, and how long they waited and ran.

use maud::{Markup, html};
use serde::Deserialize;

use super::links;
use crate::serve::dashboard::html::layout::{columns, section, section_with};
use crate::serve::dashboard::html::number::{self, grouped};
use crate::serve::dashboard::html::{bar, note, table, time};
use crate::serve::dashboard::view::View;
use crate::top::percentiles::percentiles;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Statistics {
    since: Option<f64>,
    enqueued: i64,
    started: i64,
    completed: i64,
    failed: i64,
    retried: i64,
    discarded: i64,
    cancelled: i64,
    rescued: i64,
    wait_ms: Vec<i64>,
    run_ms: Vec<i64>,
    total_wait_ms: Vec<i64>,
    bounds_ms: Vec<i64>,
}

/// `filter`: what chooses its jobs in the list of jobs.
pub fn shown(view: &View, statistics: Option<&Statistics>, filter: (&str, &str)) -> Markup {
    let Some(statistics) = statistics else {
        return section(
            "Since statistics began",
            note::empty(
                "There are none of it: nothing has happened, or more than 1,000 others are busier.",
            ),
        );
    };
    let times = [
        ("Wait before start", &statistics.wait_ms),
        ("Run", &statistics.run_ms),
        ("Wait in all, of jobs that ended", &statistics.total_wait_ms),
    ];
    let parts: Vec<Markup> = times
        .iter()
        .map(|(title, counts)| spread(title, counts, &statistics.bounds_ms))
        .collect();
    html! {
        (section_with("Since statistics began", html! { (time::full(statistics.since, view.now())) }, statistics.counts(view, filter)))
        (columns(&parts))
    }
}

impl Statistics {
    fn counts(&self, view: &View, filter: (&str, &str)) -> Markup {
        let ended = |count: i64, state| links::jobs(view, count, &[filter, ("state", state)]);
        let of_runs = |count: i64| {
            html! {
                (number::count(count))
                @if self.started > 0 && count > 0 {
                    " " span.faint { "(" (number::percent(count as f64 / self.started as f64)) " of runs)" }
                }
            }
        };
        table::pairs(&[
            ("Enqueued", number::count(self.enqueued)),
            ("Runs started", number::count(self.started)),
            ("Completed", ended(self.completed, "completed")),
            ("Runs failed", of_runs(self.failed)),
            ("Retried", number::count(self.retried)),
            ("Rescued", of_runs(self.rescued)),
            ("Discarded", ended(self.discarded, "discarded")),
            ("Cancelled", ended(self.cancelled, "cancelled")),
        ])
    }
}

fn spread(title: &str, counts: &[i64], bounds: &[i64]) -> Markup {
    let total: i64 = counts.iter().sum();
    let ends: Vec<f64> = bounds.iter().map(|bound| *bound as f64).collect();
    let found = percentiles(counts, &ends);
    let words = [("p50", found.p50), ("p95", found.p95), ("p99", found.p99)];
    let beside = html! {
        @if total > 0 {
            span.faint {
                @for (name, ms) in words {
                    @if let Some(ms) = ms { (name) " " (time::span_ms(ms)) ", " }
                }
                (grouped(total)) " runs"
            }
        }
    };
    section_with(title, beside, bar::histogram(bounds, counts))
}
