//! A sheet: rows of cells under headings, sorted by one of its columns.

use super::cell::Cell;
use super::heading::Heading;

/// What a row stands for, and what can be paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Queue(String),
    Tenant(String),
    Batch(i64),
    Worker(Option<String>),
}

pub struct Row {
    pub subject: Subject,
    pub cells: Vec<Cell>,
}

pub struct Sheet {
    pub headings: &'static [Heading],
    pub rows: Vec<Row>,
    /// By which column it is sorted unless the user says otherwise.
    pub order: Order,
}

/// By which column rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub column: usize,
    pub is_down: bool,
}

impl Sheet {
    /// Rows that are the same in the column go by their first one, so that they keep their places.
    pub fn sort(&mut self, order: Order) {
        self.rows.sort_by(|one, two| {
            compare(one, two, order.column, order.is_down).then_with(|| compare(one, two, 0, false))
        });
    }
}

fn compare(one: &Row, two: &Row, column: usize, is_down: bool) -> std::cmp::Ordering {
    match (one.cells.get(column), two.cells.get(column)) {
        (Some(one), Some(two)) => one.compare(two, is_down),
        _ => std::cmp::Ordering::Equal,
    }
}
