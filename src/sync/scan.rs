//! Lanes of the tables, as statements read them.

use crate::job::gates;
use crate::job::lane::lane_of;
use crate::job::row::only_session;
use crate::pg::error::Result;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use pgrx::datum::Array;
use turnstile_scheduler::LaneSpec;

static AVAILABLE: Statement = statement!("rebuild_available", []).that_reads_all();
static RUNNING: Statement = statement!("rebuild_running", []).that_reads_all();
static HELD_SESSIONS: Statement = statement!("rebuild_held_sessions", []).that_reads_all();

/// The column behind those that name a lane: a position or a count.
pub const NUMBER: i32 = 3;
/// Rows that are fetched at once.
pub const BATCH: i64 = 10_000;

/// A lane with a number, and its names for reports.
type Visit<'v> = dyn FnMut(&LaneSpec, i64, &dyn Fn() -> String) -> Result<()> + 'v;

/// Visits each lane with available jobs and the least of their positions.
pub fn scan_available(spi: &Spi, snapshot: &Snapshot, visit: &mut Visit) -> Result<()> {
    scan(spi, snapshot, &AVAILABLE, lane_of_row, visit)
}

/// Visits what runs, as lanes with a count; a held session counts as a lane with only its session.
pub fn scan_running(spi: &Spi, snapshot: &Snapshot, visit: &mut Visit) -> Result<()> {
    scan(spi, snapshot, &RUNNING, lane_of_row, visit)?;
    scan(spi, snapshot, &HELD_SESSIONS, session_of_row, visit)
}

fn scan(
    spi: &Spi,
    snapshot: &Snapshot,
    statement: &Statement,
    spec_of: impl Fn(&Rows, usize) -> LaneSpec,
    visit: &mut Visit,
) -> Result<()> {
    spi.scan(statement, &[], snapshot, BATCH, |rows| {
        for row in 0..rows.len() {
            let number = rows.required(row, NUMBER)?;
            visit(&spec_of(rows, row), number, &|| label_of_row(rows, row))?;
        }
        Ok(())
    })
}

/// The lane that the first two columns name: names in the order of the kinds of gates, of which the last may be
/// missing, and a priority.
pub fn lane_of_row(rows: &Rows, row: usize) -> LaneSpec {
    let names: Option<Array<&str>> = rows.value(row, 1);
    let mut names = names.iter().flat_map(Array::iter);
    lane_of(rows.value(row, 2).unwrap_or(0), |_| names.next().flatten())
}

/// The names for reports.
fn label_of_row(rows: &Rows, row: usize) -> String {
    let names: Option<Array<&str>> = rows.value(row, 1);
    let columns = gates::all().map(|gate| gate.column.1);
    let names = columns.zip(names.iter().flat_map(Array::iter));
    let given = names.filter_map(|(column, name)| Some(format!("{column} {:?}", name?)));
    given.collect::<Vec<_>>().join(", ")
}

fn session_of_row(rows: &Rows, row: usize) -> LaneSpec {
    only_session(lane_of_row(rows, row).session)
}
