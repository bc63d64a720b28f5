//! What the verbs that end a run share.

use crate::call::datum;
use crate::error::{Failure, Result, no_such_job, superseded};
use crate::plan::{Rows, Spi, Statement, statement};
use pgrx::pg_sys::Datum;

static FINISH: Statement = statement!("finish_run", [INT8OID, INT4OID, TEXTOID, JSONBOID, TEXTOID]);
static FIND: Statement = statement!("find_run", [INT8OID]);

/// How a run ends for good.
pub enum End {
    Completed { result: Option<Datum> },
    Discarded { error: Option<Datum> },
}

/// Moves a run to history; gives its queue, or no row if it is not running.
pub fn finish(spi: &Spi, job_id: i64, attempt: i32, end: End) -> Result<Rows<'_>> {
    let (state, result, error) = match end {
        End::Completed { result } => ("completed", result, None),
        End::Discarded { error } => ("discarded", None, error),
    };
    let arguments = [datum(job_id), datum(attempt), datum(state), result, error];
    spi.run(&FINISH, &arguments)
}

/// Why the run (job_id, attempt) is not running.
pub fn why_not_running(spi: &Spi, job_id: i64, attempt: i32) -> Result<Failure> {
    let rows = spi.run(&FIND, &[datum(job_id)])?;
    if rows.len() == 0 {
        return Ok(no_such_job(job_id));
    }
    let state: &str = rows.required(0, 1)?;
    Ok(superseded(job_id, attempt, state, rows.required(0, 2)?))
}
