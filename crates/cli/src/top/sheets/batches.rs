//! Batches, with how far they are.

use super::cell::{Cell, Tone};
use super::heading::{Heading, bar, number, text};
use super::sheet::{Order, Row, Sheet, Subject};
use crate::top::figures::Batch;

const HEADINGS: &[Heading] = &[
    number("ID", 10, 0),
    text("KIND", 12, 0),
    text("STATE", 9, 2),
    bar("PROGRESS", 22, 0),
    number("LEFT", 7, 1),
    bar("RUNNING", 15, 3),
    number("WAITING", 7, 4),
    number("DISCARDED", 9, 5),
    number("CANCELLED", 9, 7),
    number("END/MIN", 7, 4),
    number("BEGAN", 7, 6),
    text("QUEUE", 12, 5),
    text("TENANT", 12, 6),
];

pub fn sheet(batches: &[Batch]) -> Sheet {
    let rows = batches.iter().map(|batch| Row {
        subject: Subject::Batch(batch.id),
        cells: cells(batch),
    });
    Sheet {
        headings: HEADINGS,
        rows: rows.collect(),
        order: Order {
            column: 0,
            is_down: true,
        },
    }
}

fn cells(batch: &Batch) -> Vec<Cell> {
    let lost = batch.discarded + batch.cancelled;
    vec![
        Cell::Number {
            text: batch.id.to_string(),
            value: Some(batch.id as f64),
            tone: Tone::Plain,
        },
        Cell::text(&batch.kind),
        state(batch),
        Cell::Progress {
            ended: batch.completed + lost,
            lost,
            total: batch.total,
        },
        Cell::seconds(batch.estimated_seconds_left),
        Cell::Running {
            running: batch.running,
            slots: batch.slots,
        },
        Cell::count(batch.waiting),
        Cell::bad(batch.discarded),
        Cell::bad(batch.cancelled),
        Cell::count(batch.finished_per_minute),
        Cell::seconds(batch.started_seconds_ago),
        Cell::text(&batch.queue),
        Cell::text(batch.tenant.as_deref().unwrap_or_default()),
    ]
}

/// A batch is blocked while its children live, which its other figures say better.
fn state(batch: &Batch) -> Cell {
    match batch.state.as_str() {
        "blocked" if batch.paused => Cell::Text("paused".to_owned(), Tone::Bad),
        "blocked" if batch.started_at.is_some() => Cell::text("open"),
        "discarded" | "cancelled" => Cell::Text(batch.state.clone(), Tone::Bad),
        other => Cell::text(other),
    }
}
