//! Figures as rows of cells under headings: what the screen and the printed text have in common.

mod batches;
mod cell;
mod gates;
mod heading;
mod sheet;
mod workers;

pub use cell::{Cell, Tone};
pub use heading::Heading;
pub use sheet::{Order, Row, Sheet, Subject};

use super::figures::{Gate, Rows};
use super::percentiles::Spans;

/// `spans`: the percentiles of a queue or tenant.
pub fn make(rows: &Rows, spans: impl Fn(&Gate) -> Spans) -> Sheet {
    match rows {
        Rows::Queues(queues) => gates::sheet(queues, Subject::Queue, spans),
        Rows::Tenants(tenants) => gates::sheet(tenants, Subject::Tenant, spans),
        Rows::Batches(batches) => batches::sheet(batches),
        Rows::Workers(workers) => workers::sheet(workers),
    }
}
