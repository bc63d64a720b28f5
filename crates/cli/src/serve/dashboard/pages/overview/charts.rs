//! The last hour.

use maud::Markup;

use crate::serve::dashboard::html::chart::{Chart, lines};
use crate::serve::dashboard::html::layout::columns;
use crate::serve::dashboard::pages::parts::past::{Past, Points, named, waiting_in};

/// So many differ by their dashes.
const LINES: usize = 5;
const HEIGHT: u32 = 120;
/// Of a name that stands beside a line.
const LONGEST: usize = 28;

pub fn shown(past: &Past) -> Markup {
    columns(&[pace(past), depth(past), waits(past)])
}

fn chart(past: &Past, title: &str, unit: &str, of: Vec<(&str, Points)>) -> Markup {
    lines(Chart {
        title,
        unit,
        series: &named(of),
        from: past.from,
        to: past.to,
        height: HEIGHT,
    })
}

fn pace(past: &Past) -> Markup {
    let started = past.line(|sample| Some(sample.totals.claimed_per_minute as f64));
    let finished = past.line(|sample| Some(sample.totals.finished_per_minute as f64));
    chart(
        past,
        "Jobs",
        "/min",
        vec![
            ("started", started),
            ("failed", past.failures()),
            ("finished", finished),
        ],
    )
}

/// In all queues, and in those where the most wait now.
fn depth(past: &Past) -> Markup {
    let mut queues = past
        .last()
        .map(|last| last.queues.clone())
        .unwrap_or_default();
    queues.sort_by_key(|(_, waiting)| std::cmp::Reverse(*waiting));
    queues.truncate(LINES - 1);
    let names: Vec<String> = queues.iter().map(|(name, _)| shortened(name)).collect();
    let all = past.line(|sample| Some(sample.totals.waiting as f64));
    let of_queues = queues
        .iter()
        .zip(&names)
        .map(|((queue, _), name)| (name.as_str(), past.line(|sample| waiting_in(sample, queue))));
    let depths = [("all queues", all)].into_iter().chain(of_queues).collect();
    chart(past, "Waiting", "jobs", depths)
}

fn waits(past: &Past) -> Markup {
    let [p50, p95] = past.waits();
    let largest = p95
        .iter()
        .filter_map(|(_, seconds)| *seconds)
        .fold(0.0, f64::max);
    let (unit, times) = if largest < 1.0 {
        ("ms", 1_000.0)
    } else {
        ("s", 1.0)
    };
    let scaled = |points: Points| {
        points
            .into_iter()
            .map(|(at, seconds)| (at, seconds.map(|seconds| seconds * times)))
            .collect()
    };
    chart(
        past,
        "Wait before start",
        unit,
        vec![("p50", scaled(p50)), ("p95", scaled(p95))],
    )
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or(name)),
        None => name.to_owned(),
    }
}
