//! What the verbs that end a run share: why a run could not be ended.

use crate::call::datum;
use crate::error::{Failure, Result, no_such_job, superseded};
use crate::plan::{Spi, Statement, statement};

static FIND: Statement = statement!("find_run", [INT8OID]);

/// Why the run (job_id, attempt) is not running.
pub fn why_not_running(spi: &Spi, job_id: i64, attempt: i32) -> Result<Failure> {
    let rows = spi.run(&FIND, &[datum(job_id)])?;
    if rows.len() == 0 {
        return Ok(no_such_job(job_id));
    }
    let state: &str = rows.required(0, 1)?;
    Ok(superseded(job_id, attempt, state, rows.required(0, 2)?))
}
