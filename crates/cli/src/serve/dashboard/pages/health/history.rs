//! The partitions of the history: how large they are, and whether some are there for the days to come.

use maud::{Markup, html};
use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::html::layout::section;
use crate::serve::dashboard::html::number::{self, bytes_text, grouped};
use crate::serve::dashboard::html::table::{Head, table};
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::html::{bar, note, parts, time};
use crate::serve::dashboard::view::View;

const PARTITIONS: &str = include_str!("../../sql/partitions.sql");
/// Partitions should be there for so many seconds ahead.
const AHEAD: f64 = 86_400.0;

#[derive(Debug, Deserialize)]
pub struct Partition {
    name: String,
    begins: Option<f64>,
    ends: Option<f64>,
    estimated_rows: i64,
    bytes: i64,
}

pub async fn read(view: &View) -> Result<Option<Vec<Partition>>, Problem> {
    if !view.can.reads("history_partition") {
        return Ok(None);
    }
    view.rows(PARTITIONS, &[]).await.map(Some)
}

/// Until when there are partitions.
fn until(partitions: &[Partition]) -> Option<f64> {
    let ends = partitions.iter().filter_map(|partition| partition.ends);
    ends.reduce(f64::max)
}

/// What overview and this page say of partitions that are missing.
pub fn is_short(until: Option<f64>, now: f64) -> bool {
    until.is_none_or(|until| until < now + AHEAD)
}

pub fn warning(partitions: Option<&[Partition]>, now: f64) -> Markup {
    let Some(partitions) = partitions else {
        return html! {};
    };
    let until = until(partitions);
    if !is_short(until, now) {
        return html! {};
    }
    let text = match until {
        Some(until) => format!("The last one ends at {}.", time::stamp(until)),
        None => "There is none but the default one.".to_owned(),
    };
    note::note(
        Tone::Warn,
        "The history has no partitions for the days to come",
        &text,
        Some(
            "turnstile.maintain() makes them: run it once a minute, by turnstile.enable_cron() or any other scheduler.",
        ),
    )
}

pub fn shown(partitions: Option<&[Partition]>, now: f64) -> Markup {
    let Some(partitions) = partitions else {
        return html! {};
    };
    let whole: i64 = partitions.iter().map(|partition| partition.bytes).sum();
    let heads = [
        Head::text("Partition"),
        Head::text("Day (UTC)"),
        Head::number("Size").titled("On disk, with indexes and TOAST"),
        Head::number("Of all"),
        Head::number("Jobs").titled("As of the last ANALYZE or VACUUM"),
    ];
    // Those of days to come are empty.
    let is_there = |partition: &&Partition| partition.begins.is_none_or(|begins| begins <= now);
    let rows = partitions
        .iter()
        .filter(is_there)
        .map(|partition| row(partition, whole))
        .collect();
    let ahead = partitions.len() - partitions.iter().filter(is_there).count();
    let (size, unit) = bytes_text(whole);
    let caption = format!(
        "{size}\u{a0}{unit} in {} partitions, and {} for days to come",
        grouped(i64::try_from(partitions.len() - ahead).unwrap_or(i64::MAX)),
        grouped(i64::try_from(ahead).unwrap_or(i64::MAX)),
    );
    section(
        "History of ended jobs",
        table(&heads, rows, &caption, "There are no partitions."),
    )
}

fn row(partition: &Partition, whole: i64) -> Vec<Markup> {
    let name = partition.name.strip_prefix("turnstile.");
    vec![
        parts::name(name.unwrap_or(&partition.name)),
        match partition.begins {
            Some(begins) => html! { (day(begins)) },
            None => html! { span.faint { "all other days" } },
        },
        number::bytes(partition.bytes),
        bar::share(partition.bytes, whole),
        html! { span.faint { "about " } (number::count(partition.estimated_rows)) },
    ]
}

fn day(begins: f64) -> String {
    let stamp = time::stamp(begins);
    stamp.split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ahead_is_enough() {
        assert!(!is_short(Some(100_000.0), 10_000.0));
        assert!(is_short(Some(90_000.0), 10_000.0));
        assert!(is_short(None, 10_000.0));
    }

    #[test]
    fn days_are_told_without_their_hour() {
        assert_eq!(day(1_795_564_800.0), "2026-11-25");
    }
}
