//! What the verbs that end a run share.

use crate::call::datum;
use crate::error::{Failure, Result, no_such_job, superseded};
use crate::lane::queue_key;
use crate::plan::{Rows, Spi, Statement, statement};
use crate::row::column;
use crate::table::{self, Attempt, Lock, Operation, Table, Where};
use crate::tuple::RawRow;
use crate::{catalog, server};
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;
use std::cell::Cell;

static FAIL: Statement = statement!(
    "fail_runs",
    [INT8ARRAYOID, INT4ARRAYOID, TEXTOID, INTERVALOID, BOOLOID]
);
static FIND: Statement = statement!("find_run", [INT8OID]);

/// The column of the index on the id.
const ID: i16 = 1;
/// Jobs whose ids are no farther apart are found by one search, which passes over those between.
const NEAR: i64 = 8;
/// 10 ms.
const MOMENT: i64 = server::SECOND / 100;

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

/// Moves those of the runs (id, attempt), in order of id, that are running to history. In that order, two calls cannot
/// deadlock.
pub fn finish_all(
    runs: &[(i64, i32)],
    state: &str,
    result: Option<Datum>,
) -> Result<Vec<Finished>> {
    let job_table = catalog::job_table()?;
    let history = catalog::relation(c"job_history")?;
    let index = catalog::relation(c"job_pkey")?;
    let about_the_end = AboutTheEnd {
        state,
        result,
        at: Cell::new(server::now()),
    };
    table::command(|command| {
        let mut jobs = command.open(job_table, Operation::Delete);
        let mut history = command.open(history, Operation::Insert);
        history.announce(runs.len());
        let mut found = jobs.search(index, &between(0, 0));
        let mut finished = Vec::with_capacity(runs.len());
        for near in runs.chunk_by(|(id, _), (next, _)| next.saturating_sub(*id) <= NEAR) {
            let (Some(first), Some(last)) = (near.first(), near.last()) else {
                continue;
            };
            found.restart(&between(first.0, last.0));
            while let Some(row) = found.next() {
                let Some(run) = run_of(&row, near) else {
                    continue;
                };
                let is_last = run.0 == last.0;
                finished.extend(end_run(&mut jobs, &mut history, row, run, &about_the_end)?);
                if is_last {
                    break;
                }
            }
        }
        history.finish_partitions()?;
        Ok(finished)
    })
}

fn between(first: i64, last: i64) -> [Where; 2] {
    [Where::From(ID, first), Where::UpTo(ID, last)]
}

/// Which of the runs, that are in order of id, the row is. A superseded one waits for nobody who has locked the row.
fn run_of(row: &RawRow, runs: &[(i64, i32)]) -> Option<(i64, i32)> {
    let id = row.int8(column::ID)?;
    let first = runs.partition_point(|run| run.0 < id);
    let mut of_job = runs.get(first..)?.iter().take_while(|run| run.0 == id);
    of_job.find(|run| row.is_run(run.0, run.1)).copied()
}

/// Moves a run to history, unless another has ended it.
fn end_run(
    jobs: &mut Table,
    history: &mut Table,
    row: RawRow,
    (job_id, attempt): (i64, i32),
    about_the_end: &AboutTheEnd,
) -> Result<Option<Finished>> {
    let row = row.up_to(column::COUNT);
    match jobs.delete_at_once(&row)? {
        Attempt::Made => return about_the_end.write(&row, history).map(Some),
        Attempt::Late => return Ok(None),
        Attempt::Open => {}
    }
    let is_run = |row: &RawRow| row.is_run(job_id, attempt);
    let Some(job) = jobs.lock(row.place(), Lock::ToDelete)?.filter(is_run) else {
        return Ok(None);
    };
    let finished = about_the_end.write(&job.up_to(column::COUNT), history)?;
    jobs.delete()?;
    Ok(Some(finished))
}

/// How runs end.
struct AboutTheEnd<'a> {
    state: &'a str,
    result: Option<Datum>,
    at: Cell<i64>,
}

impl AboutTheEnd<'_> {
    /// The same for the runs of a moment: the history is summarised by the time, page by page.
    fn time(&self) -> i64 {
        let now = server::now();
        if now.saturating_sub(self.at.get()) > MOMENT {
            self.at.set(now);
        }
        self.at.get()
    }

    fn write(&self, job: &RawRow, history: &mut Table) -> Result<Finished> {
        let values = [
            (column::STATE, datum(self.state)),
            (column::FINISHED_AT, datum(self.time())),
            (column::RESULT, self.result),
        ];
        history.add_to_partition(job.all().chain(values))?;
        Ok(Finished {
            queue: queue_key(job.text(column::QUEUE).unwrap_or_default()),
            was_to_be_cancelled: job.raw(column::CANCEL_REQUESTED_AT).is_some(),
        })
    }
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
