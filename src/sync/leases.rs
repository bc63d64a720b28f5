//! The leases of all runs, read from the tables without an index: claims would have to keep it.

use crate::job::lane::queue_key;
use crate::pg::error::Result;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Spi, Statement, statement};
use crate::table::visit_jobs;
use pgrx::pg_sys;
use turnstile_scheduler::{LeaseView, RunId};

static RUNNING: Statement = statement!("running_leases", []).that_reads_all();

/// Rows that are fetched at once.
const BATCH: i64 = 10_000;

/// Visits each run that a snapshot sees. The jobs must be locked.
pub fn visit(
    spi: &Spi,
    job_table: pg_sys::Oid,
    snapshot: &Snapshot,
    mut visit: impl FnMut(LeaseView) -> Result<()>,
) -> Result<()> {
    let is_read = visit_jobs(job_table, snapshot, |row| match row.is_running() {
        true => row.read().lease.map_or(Ok(()), &mut visit),
        false => Ok(()),
    })?;
    match is_read {
        true => Ok(()),
        false => scan(spi, snapshot, visit),
    }
}

/// The same by a statement.
pub fn scan(
    spi: &Spi,
    snapshot: &Snapshot,
    mut visit: impl FnMut(LeaseView) -> Result<()>,
) -> Result<()> {
    spi.scan(&RUNNING, &[], snapshot, BATCH, |rows| {
        for row in 0..rows.len() {
            visit(LeaseView {
                queue: queue_key(rows.required(row, 1)?),
                time: rows.required(row, 2)?,
                run: RunId {
                    job: rows.required(row, 3)?,
                    attempt: rows.required(row, 4)?,
                },
            })?;
        }
        Ok(())
    })
}
