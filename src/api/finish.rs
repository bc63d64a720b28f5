//! What the verbs that end a run share.

use crate::call::datum;
use crate::error::{Failure, Result, no_such_job, superseded};
use crate::plan::{Rows, Spi, Statement, statement};
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;

static FINISH: Statement = statement!("finish_run", [INT8OID, INT4OID, TEXTOID, JSONBOID]);
static FAIL: Statement = statement!(
    "fail_runs",
    [INT8ARRAYOID, INT4ARRAYOID, TEXTOID, INTERVALOID, BOOLOID]
);
static FIND: Statement = statement!("find_run", [INT8OID]);

/// Moves a run to history; gives its queue and whether its cancellation was asked for, or no row if it is
/// not running.
pub fn finish<'spi>(
    spi: &'spi Spi,
    job_id: i64,
    attempt: i32,
    state: &str,
    result: Option<Datum>,
) -> Result<Rows<'spi>> {
    let arguments = [datum(job_id), datum(attempt), datum(state), result];
    spi.run(&FINISH, &arguments)
}

/// How runs fail.
#[derive(Default)]
pub struct Failing {
    pub error: Option<Datum>,
    /// Instead of the queue's backoff.
    pub retry_in: Option<Datum>,
    /// No other attempt follows.
    pub discard: bool,
}

impl Failing {
    pub fn for_good(error: Option<Datum>) -> Self {
        Self {
            error,
            retry_in: None,
            discard: true,
        }
    }
}

/// Fails the runs that are running; gives (id, new state) of each.
pub fn fail_runs<'spi>(
    spi: &'spi Spi,
    ids: &[i64],
    attempts: &[i32],
    failing: &Failing,
) -> Result<Rows<'spi>> {
    let arguments = [
        datum(ids),
        datum(attempts),
        failing.error,
        failing.retry_in,
        datum(failing.discard),
    ];
    spi.run(&FAIL, &arguments)
}

/// Fails one run; gives its new state.
pub fn fail_run(spi: &Spi, job_id: i64, attempt: i32, failing: &Failing) -> Result<String> {
    let rows = fail_runs(spi, &[job_id], &[attempt], failing)?;
    match rows.value(0, 2) {
        Some(state) => Ok(state),
        None => Err(why_not_running(spi, job_id, attempt)?),
    }
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

/// The state of a job, live or finished; none if there is no such job.
pub fn state_of(spi: &Spi, job_id: i64) -> Result<Option<String>> {
    Ok(spi.run(&FIND, &[datum(job_id)])?.value(0, 1))
}

pub fn wrong_state(job_id: i64, state: &str, hint: &'static str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("job {job_id} is {state}"),
    )
    .detail("The call needs a job in another state.")
    .hint(hint)
}
