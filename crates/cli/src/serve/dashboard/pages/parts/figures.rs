//! The figures of one gate as tiles.

use maud::Markup;

use super::gate::Gate;
use crate::serve::dashboard::html::number::grouped;
use crate::serve::dashboard::html::stat::{Tile, tiles as drawn};
use crate::serve::dashboard::html::time::span_text;
use crate::serve::dashboard::html::tone::Tone;
use crate::serve::dashboard::view::View;

/// `filter`: what chooses its jobs in the list of jobs, if anything does.
pub fn tiles(view: &View, gate: &Gate, filter: Option<(&str, &str)>) -> Markup {
    let jobs = |state: &str| {
        let (name, value) = filter.filter(|_| view.can.jobs())?;
        let link = view.link("/jobs").with(name, value);
        Some(link.with("state", state).text())
    };
    let slots = match gate.slots {
        Some(slots) => format!("of {} {}", grouped(slots), slots_word(slots)),
        None => "no limit".to_owned(),
    };
    let full = gate.is_full() && gate.waiting > 0;
    let oldest = gate
        .oldest_seconds
        .map(|seconds| format!("oldest {}", span_text(seconds)));
    let mut shown = vec![
        Tile {
            label: "Running",
            value: grouped(gate.running),
            note: Some(if full {
                format!("{slots}: full")
            } else {
                slots
            }),
            tone: if full { Tone::Warn } else { Tone::Plain },
            href: jobs("running"),
            ..Tile::default()
        },
        Tile {
            label: "Waiting",
            value: grouped(gate.waiting),
            note: oldest.or_else(|| Some("none is due".to_owned())),
            href: jobs("available"),
            ..Tile::default()
        },
    ];
    let later = [
        ("Scheduled", gate.scheduled, "scheduled"),
        ("Retryable", gate.retryable, "retryable"),
        ("Blocked", gate.blocked, "blocked"),
    ];
    shown.extend(later.map(|(label, count, state)| Tile {
        label,
        value: grouped(count),
        href: jobs(state).filter(|_| count > 0),
        ..Tile::default()
    }));
    let pace = [
        ("Started", gate.claimed_per_minute),
        ("Finished", gate.finished_per_minute),
    ];
    shown.extend(pace.map(|(label, count)| Tile {
        label,
        value: grouped(count),
        unit: "/min",
        ..Tile::default()
    }));
    drawn(&shown)
}

pub fn slots_word(slots: i64) -> &'static str {
    if slots == 1 { "slot" } else { "slots" }
}
