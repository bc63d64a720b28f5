//! What the verbs that end a run share.

use crate::call::datum;
use crate::error::{Failure, Result, no_such_job, superseded};
use crate::lane::queue_key;
use crate::plan::{Rows, Spi, Statement, statement};
use crate::row::column;
use crate::table::{self, Lock, Operation, Where};
use crate::tuple::RawRow;
use crate::{catalog, server};
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;

static FAIL: Statement = statement!(
    "fail_runs",
    [INT8ARRAYOID, INT4ARRAYOID, TEXTOID, INTERVALOID, BOOLOID]
);
static FIND: Statement = statement!("find_run", [INT8OID]);

/// The column of the index on the id.
const ID: i16 = 1;

/// A run that was moved to history.
pub struct Finished {
    /// The gate of the job's queue.
    pub queue: u64,
    pub was_to_be_cancelled: bool,
}

/// Moves a run to history; nothing if it is not running.
pub fn finish(
    job_id: i64,
    attempt: i32,
    state: &str,
    result: Option<Datum>,
) -> Result<Option<Finished>> {
    Ok(finish_all(&[(job_id, attempt)], state, result)?.pop())
}

/// Moves those of the runs (id, attempt) that are running to history. In order of id, two calls cannot deadlock.
pub fn finish_all(
    runs: &[(i64, i32)],
    state: &str,
    result: Option<Datum>,
) -> Result<Vec<Finished>> {
    let job_table = catalog::job_table()?;
    let history = catalog::relation(c"job_history")?;
    let index = catalog::relation(c"job_pkey")?;
    table::command(|command| {
        let mut jobs = command.open(job_table, Operation::Delete);
        let mut history = command.open(history, Operation::Insert);
        let mut found = jobs.search(index, &[Where::Is(ID, 0)]);
        let mut finished = Vec::with_capacity(runs.len());
        for &(job_id, attempt) in runs {
            // A superseded run waits for nobody who has locked the row.
            let is_run = |row: &RawRow| row.is_run(job_id, attempt);
            found.restart(&[Where::Is(ID, job_id)]);
            let Some(place) = found.next().filter(is_run).map(|row| row.place()) else {
                continue;
            };
            let Some(job) = jobs.lock(place, Lock::ToDelete)?.filter(is_run) else {
                continue;
            };
            let job = job.up_to(column::COUNT);
            finished.push(Finished {
                queue: queue_key(job.text(column::QUEUE).unwrap_or_default()),
                was_to_be_cancelled: job.raw(column::CANCEL_REQUESTED_AT).is_some(),
            });
            let about_the_end = [
                (column::STATE, datum(state)),
                (column::FINISHED_AT, datum(server::now())),
                (column::RESULT, result),
            ];
            let values: Vec<_> = job.all().chain(about_the_end).collect();
            jobs.delete()?;
            history.insert_into_partition(values)?;
        }
        Ok(finished)
    })
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
