use crate::api::output::Output;
use crate::call::{Call, datum, must_be_writable, required};
use crate::error::{Failure, Result, bad_value};
use crate::plan::{Rows, Spi, Statement, statement, with_spi};
use crate::routes::{self, Columns};
use crate::settings;
use pgrx::PgTryBuilder;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::PgSqlErrorCode;
use std::panic::AssertUnwindSafe;

static IS_ARRAY: Statement = statement!("is_array", [JSONBOID]);
static CHECK: Statement = statement!("check_many", [JSONBOID, INT4OID]);
static KINDS: Statement = statement!("kinds_of_many", [JSONBOID]);
static INSERT: Statement = statement!(
    "enqueue_many",
    [
        JSONBOID,
        TEXTARRAYOID,
        TEXTARRAYOID,
        INT4ARRAYOID,
        BOOLARRAYOID,
        TEXTARRAYOID
    ]
);

pub fn enqueue_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let jobs = required(call.raw(0), "jobs")?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        check(spi, jobs)?;
        let rows = insert(spi, jobs, routes_of(spi, jobs)?)?;
        for row in 0..rows.len() {
            output.push((1..=3).map(|column| rows.get(row, column)));
        }
        Ok(())
    })?;
    Ok(None)
}

fn check(spi: &Spi, jobs: Datum) -> Result<()> {
    if !spi.run(&IS_ARRAY, &[Some(jobs)])?.required::<bool>(0, 1)? {
        return Err(bad_value("jobs must be an array")
            .detail("The jsonb value is of another type.")
            .hint("Pass an array of objects whose keys are the arguments of turnstile.enqueue."));
    }
    let most = i32::try_from(settings::max_payload()).unwrap_or(i32::MAX);
    let problem = spi.run(&CHECK, &[Some(jobs), datum(most)])?;
    if problem.len() == 0 {
        return Ok(());
    }
    let element: i32 = problem.required(0, 1)?;
    let code: &str = problem.required(0, 2)?;
    let message: &str = problem.required(0, 3)?;
    Err(
        Failure::new(code_of(code), format!("element {element}: {message}"))
            .detail("It is the first element that is no job, counted from 1; none was added.")
            .hint("Each element is an object whose keys are the arguments of turnstile.enqueue."),
    )
}

/// The routes that hold for kinds of these jobs.
fn routes_of(spi: &Spi, jobs: Datum) -> Result<Columns> {
    let routes = routes::current(spi)?;
    if routes.is_empty() {
        return Ok(Columns::default());
    }
    let rows = spi.run(&KINDS, &[Some(jobs)])?;
    let kinds = (0..rows.len()).filter_map(|row| rows.value(row, 1));
    Ok(Columns::of(&routes, kinds))
}

/// What SQL cannot check without trying: the error of a cast becomes one of the argument.
fn insert(spi: &Spi, jobs: Datum, routes: Columns) -> Result<Rows<'_>> {
    let arguments = [
        Some(jobs),
        datum(routes.kinds),
        datum(routes.queues),
        datum(routes.priority_offsets),
        datum(routes.overrides),
        datum(routes.concurrency_keys),
    ];
    let not_a_time = |cause| {
        let detail = match cause {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
                report.message().to_owned()
            }
            other => other.rethrow(),
        };
        Err(bad_value("an element has no sensible run_at")
            .detail(format!("The server says: {detail}."))
            .hint("Write a timestamp with time zone, such as 2030-01-31T12:00:00Z."))
    };
    PgTryBuilder::new(AssertUnwindSafe(|| spi.run(&INSERT, &arguments)))
        .catch_when(PgSqlErrorCode::ERRCODE_INVALID_DATETIME_FORMAT, not_a_time)
        .catch_when(PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW, not_a_time)
        .execute()
}

fn code_of(state: &str) -> PgSqlErrorCode {
    match state {
        "22004" => PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        "54000" => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "0A000" => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        _ => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
    }
}
