//! Figures as rows of cells under headings: what the screen and the printed text have in common.

mod batches;
mod cell;
mod gates;
mod order;
mod workers;

pub use cell::{Cell, Tone};
pub use order::Order;

use super::figures::{Gate, Rows};
use super::percentiles::Spans;

pub struct Heading {
    pub title: &'static str,
    pub width: u16,
    /// Numbers are at the right.
    pub is_right: bool,
    /// Who sorts by a number looks for the greatest.
    pub is_down: bool,
    /// Where the screen is narrow, those with the highest go first; 0 never goes.
    pub rank: u8,
}

const fn text(title: &'static str, width: u16, rank: u8) -> Heading {
    Heading {
        title,
        width,
        is_right: false,
        is_down: false,
        rank,
    }
}

const fn bar(title: &'static str, width: u16, rank: u8) -> Heading {
    Heading {
        title,
        width,
        is_right: false,
        is_down: true,
        rank,
    }
}

const fn number(title: &'static str, width: u16, rank: u8) -> Heading {
    Heading {
        title,
        width,
        is_right: true,
        is_down: true,
        rank,
    }
}

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

/// `spans`: the percentiles of a queue or tenant.
pub fn make(rows: &Rows, spans: impl Fn(&Gate) -> Spans) -> Sheet {
    match rows {
        Rows::Queues(queues) => gates::sheet(queues, Subject::Queue, spans),
        Rows::Tenants(tenants) => gates::sheet(tenants, Subject::Tenant, spans),
        Rows::Batches(batches) => batches::sheet(batches),
        Rows::Workers(workers) => workers::sheet(workers),
    }
}
