//! Who claims.

use super::cell::{Cell, Tone};
use super::heading::{Heading, number, text};
use super::sheet::{Order, Row, Sheet, Subject};
use crate::top::figures::Worker;

/// After so long without a claim it may be gone. A worker that waits in the server looks again from time to time.
const SILENT_SECONDS: f64 = 300.0;

const HEADINGS: &[Heading] = &[
    text("WORKER", 24, 0),
    text("QUEUE", 16, 0),
    number("LAST SEEN", 10, 0),
    number("FIRST SEEN", 11, 3),
    number("JOBS", 8, 1),
    number("CLAIMS", 8, 2),
];

pub fn sheet(workers: &[Worker]) -> Sheet {
    let rows = workers.iter().map(|worker| Row {
        subject: Subject::Worker(worker.worker.clone()),
        cells: cells(worker),
    });
    Sheet {
        headings: HEADINGS,
        rows: rows.collect(),
        order: Order {
            column: 2,
            is_down: false,
        },
    }
}

fn cells(worker: &Worker) -> Vec<Cell> {
    vec![
        match &worker.worker {
            Some(name) => Cell::text(name),
            None => Cell::Text("(no name)".to_owned(), Tone::Faint),
        },
        Cell::text(worker.queue.as_deref().unwrap_or_default()),
        last_seen(worker),
        Cell::seconds(worker.first_seen_seconds_ago),
        Cell::count(worker.jobs),
        Cell::count(worker.claims),
    ]
}

fn last_seen(worker: &Worker) -> Cell {
    match Cell::seconds(worker.last_seen_seconds_ago) {
        Cell::Number { text, value, .. }
            if value.is_some_and(|seconds| seconds > SILENT_SECONDS) =>
        {
            Cell::Number {
                text,
                value,
                tone: Tone::Faint,
            }
        }
        cell => cell,
    }
}
