//! `recent_failures`.

use crate::permission;
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Result, on_standby};
use crate::pg::output::Output;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::pg::{catalog, server};
use crate::shmem::{self, FailedRun};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys::Datum;

arguments!(recent_failures: SINCE);

static FAILED_RUNS: Statement = statement!(
    "failed_runs",
    [
        INT8ARRAYOID,
        INT4ARRAYOID,
        TIMESTAMPTZARRAYOID,
        INT8ARRAYOID,
        BOOLOID
    ]
);
const COLUMNS: i32 = 10;

/// The rows are read after memory, so a snapshot that is taken with each statement sees them.
pub fn recent_failures(call: &Call) -> Result<Option<Datum>> {
    if server::is_in_recovery() {
        return Err(on_standby());
    }
    let with_errors = permission::follow()?;
    let since = call.int8(recent_failures::SINCE).unwrap_or(i64::MIN);
    let failed = shmem::with_existing(catalog::job_table()?, |memory| {
        Ok(memory.state.failed_runs.after(since))
    })?;
    let failed = failed.unwrap_or_default();
    let mut output = Output::of(call);
    if failed.is_empty() {
        return Ok(None);
    }
    let each = |field: fn(&FailedRun) -> i64| failed.iter().map(field).collect::<Vec<_>>();
    let attempts: Vec<_> = failed.iter().map(|run| run.attempt).collect();
    let times: Vec<_> = failed
        .iter()
        .filter_map(|run| TimestampWithTimeZone::try_from(run.failed_at).ok())
        .collect();
    with_spi(|spi| {
        let values = [
            datum(each(|run| run.job)),
            datum(attempts),
            datum(times),
            datum(each(|run| run.number)),
            datum(with_errors),
        ];
        let rows = spi.run(&FAILED_RUNS, &values)?;
        for row in 0..rows.len() {
            output.push((1..=COLUMNS).map(|column| rows.get(row, column)));
        }
        Ok(None)
    })
}
