//! Queues and tenants.

use super::cell::{Cell, Tone};
use super::heading::{Heading, bar, number, text};
use super::sheet::{Order, Row, Sheet, Subject};
use crate::top::figures::{Gate, Statistics};
use crate::top::percentiles::Spans;

const HEADINGS: &[Heading] = &[
    text("NAME", 12, 0),
    text("STATE", 6, 1),
    bar("RUNNING", 19, 0),
    number("WAITING", 7, 0),
    number("OLDEST", 7, 2),
    number("START/MIN", 9, 3),
    number("END/MIN", 7, 3),
    number("SCHED", 6, 7),
    number("RETRY", 6, 6),
    number("BLOCKED", 7, 9),
    number("WAIT p50", 9, 8),
    number("WAIT p95", 9, 4),
    number("WAIT p99", 9, 11),
    number("RUN p50", 8, 8),
    number("RUN p95", 8, 5),
    number("RUN p99", 8, 11),
    number("FAILED", 6, 10),
    number("RESCUED", 7, 12),
    number("DISCARDED", 9, 12),
];

pub fn sheet(
    gates: &[Gate],
    subject: fn(String) -> Subject,
    spans: impl Fn(&Gate) -> Spans,
) -> Sheet {
    let rows = gates.iter().map(|gate| Row {
        subject: subject(gate.name.clone()),
        cells: cells(gate, spans(gate)),
    });
    Sheet {
        headings: HEADINGS,
        rows: rows.collect(),
        order: Order {
            column: 0,
            is_down: false,
        },
    }
}

fn cells(gate: &Gate, spans: Spans) -> Vec<Cell> {
    let count =
        |part: fn(&Statistics) -> i64| gate.statistics.as_ref().map(part).unwrap_or_default();
    vec![
        Cell::text(&gate.name),
        state(gate),
        Cell::Running {
            running: gate.running,
            slots: gate.slots,
        },
        Cell::count(gate.waiting),
        Cell::seconds(gate.oldest_waiting_seconds),
        Cell::count(gate.claimed_per_minute),
        Cell::count(gate.finished_per_minute),
        Cell::count(gate.scheduled),
        Cell::count(gate.retryable),
        Cell::count(gate.blocked),
        Cell::milliseconds(spans.wait.p50),
        Cell::milliseconds(spans.wait.p95),
        Cell::milliseconds(spans.wait.p99),
        Cell::milliseconds(spans.run.p50),
        Cell::milliseconds(spans.run.p95),
        Cell::milliseconds(spans.run.p99),
        Cell::bad(count(|statistics| statistics.failed)),
        Cell::bad(count(|statistics| statistics.rescued)),
        Cell::bad(count(|statistics| statistics.discarded)),
    ]
}

fn state(gate: &Gate) -> Cell {
    if gate.paused {
        Cell::Text("paused".to_owned(), Tone::Bad)
    } else if gate.waiting > 0 && gate.free == Some(0) {
        Cell::Text("full".to_owned(), Tone::Notable)
    } else {
        Cell::text("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A narrow screen shows any of them without those before it, and one of them with the mark of the order.
    #[test]
    fn each_percentile_says_of_what_it_is() {
        let percentiles = HEADINGS
            .iter()
            .filter(|heading| heading.title.contains("p9") || heading.title.contains("p50"));
        for heading in percentiles.clone() {
            assert!(heading.title.contains(' '), "{}", heading.title);
            assert!(heading.title.len() < usize::from(heading.width));
        }
        assert_eq!(percentiles.count(), 6);
    }
}
