//! What the verbs that end a run have in common.

use crate::job::state::State;
use crate::permission::{self, Verb};
use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::error::{Failure, Result, cancelled_by_trigger, no_such_job, superseded};
use crate::pg::spi::{Spi, Statement, statement};
use crate::runs::ending::{Ending, end_locked};
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::figures::Event;

static FAIL: Statement = statement!(
    "fail_runs",
    [
        INT8ARRAYOID,
        INT4ARRAYOID,
        TEXTOID,
        INTERVALOID,
        BOOLOID,
        TEXTARRAYOID,
        INTERVALARRAYOID,
        BOOLARRAYOID,
        TEXTARRAYOID,
        TEXTOID
    ]
);
static FIND: Statement = statement!("find_run", [INT8OID]);

/// How often a run that may have begun meanwhile is looked for.
const LOOKS: usize = 2;

/// How runs fail.
#[derive(Default)]
pub struct Failing {
    pub error: Option<Datum>,
    /// The sort of the error, by which a retry curve is chosen.
    pub error_class: Option<Datum>,
    /// Instead of the backoff.
    pub retry_in: Option<Datum>,
    /// No other attempt follows.
    pub discard: bool,
    /// Its worker did not say so.
    pub is_rescue: bool,
    /// Instead of these, for each run its own.
    pub each: Option<Each>,
}

/// Arrays with an element for each run, or NULL.
#[derive(Clone, Copy)]
pub struct Each {
    pub errors: Option<Datum>,
    pub retry_in: Option<Datum>,
    pub discard: Option<Datum>,
    pub error_classes: Option<Datum>,
}

impl Failing {
    pub fn for_good(error: Option<Datum>) -> Self {
        Self {
            error,
            discard: true,
            ..Self::default()
        }
    }
}

/// Fails the runs that are running; gives the new state of each. Those without an id are left alone.
pub fn fail_runs(
    spi: &Spi,
    ids: &[Option<i64>],
    attempts: &[i32],
    failing: &Failing,
) -> Result<Vec<State>> {
    let arguments = [
        datum(ids),
        datum(attempts),
        failing.error,
        failing.retry_in,
        datum(failing.discard),
        failing.each.and_then(|each| each.errors),
        failing.each.and_then(|each| each.retry_in),
        failing.each.and_then(|each| each.discard),
        failing.each.and_then(|each| each.error_classes),
        failing.error_class,
    ];
    let event = match failing.is_rescue {
        true => Event::Rescued,
        false => Event::Failed,
    };
    let mut failing: Vec<i64> = ids.iter().copied().flatten().collect();
    failing.sort_unstable();
    let job_table = catalog::job_table()?;
    pending::begin(job_table, Work::Fail(failing, event));
    let rows = spi.run(&FAIL, &arguments)?;
    let mut states = Vec::with_capacity(rows.len());
    let mut endings = Vec::with_capacity(rows.len());
    let mut repeated = Vec::new();
    for row in 0..rows.len() {
        let state = State::read(rows.required(row, 2)?)?;
        if rows.required(row, 5)? {
            return Err(cancelled_by_trigger("update"));
        }
        let attempt = rows.required(row, 4)?;
        let run = (rows.required(row, 1)?, attempt);
        match state {
            State::Retryable => repeated.push(run),
            state => endings.push(Ending {
                errors: rows.value(row, 3),
                ..Ending::of_run(run, state.required_end()?)
            }),
        }
        states.push(state);
    }
    end_locked(spi, endings)?;
    pending::end();
    pending::note(job_table, |level| level.failed_runs.extend(repeated));
    Ok(states)
}

/// Fails one run; gives its new state.
pub fn fail_run(spi: &Spi, job_id: i64, attempt: i32, failing: &Failing) -> Result<State> {
    permission::job(spi, Verb::Work, job_id)?;
    of_run(spi, job_id, attempt, || {
        Ok(fail_runs(spi, &[Some(job_id)], &[attempt], failing)?.pop())
    })
}

/// What `act` makes of the run (job_id, attempt); an error if it finds none. It looks twice, since the run may have begun meanwhile. A
/// trigger that keeps it from being changed does so again.
pub fn of_run<T>(
    spi: &Spi,
    job_id: i64,
    attempt: i32,
    mut act: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    for _ in 0..LOOKS {
        if let Some(done) = act()? {
            return Ok(done);
        }
        if let Some(why) = why_not_running(spi, job_id, attempt)? {
            return Err(why);
        }
    }
    Err(cancelled_by_trigger("update"))
}

/// Why the run (job_id, attempt) is not running; none: it is.
pub fn why_not_running(spi: &Spi, job_id: i64, attempt: i32) -> Result<Option<Failure>> {
    let rows = spi.run(&FIND, &[datum(job_id)])?;
    if rows.len() == 0 {
        return Ok(Some(no_such_job(job_id)));
    }
    let (state, current): (&str, i32) = (rows.required(0, 1)?, rows.required(0, 2)?);
    let is_running = state == State::Running.name() && current == attempt;
    Ok((!is_running).then(|| superseded(job_id, attempt, state, current)))
}

/// Whether the run (job_id, attempt) is running and its cancellation was asked for.
pub fn is_to_be_cancelled(spi: &Spi, job_id: i64, attempt: i32) -> Result<bool> {
    let rows = spi.run(&FIND, &[datum(job_id)])?;
    let is_run =
        rows.value(0, 1) == Some(State::Running.name()) && rows.value(0, 2) == Some(attempt);
    Ok(is_run && rows.value(0, 3) == Some(true))
}

/// The state of a job, live or finished; none if there is no such job.
pub fn state_of(spi: &Spi, job_id: i64) -> Result<Option<State>> {
    let rows = spi.run(&FIND, &[datum(job_id)])?;
    rows.value(0, 1).map(State::read).transpose()
}

pub fn wrong_state(job_id: i64, state: State, hint: &'static str) -> Failure {
    let state = state.name();
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("job {job_id} is {state}"),
    )
    .detail("The call needs a job in another state.")
    .hint(hint)
}
