use crate::api::enqueue_unique::enqueue_unique;
use crate::api::new_job::{Asked, Named, NewJob, UniqueKey, Values};
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

static KIND_OF_ARRAY: Statement = statement!("kind_of_array", [JSONBOID]);
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

static ELEMENTS: Statement = statement!("enqueue_many_elements", [JSONBOID]);

/// Columns of [`ELEMENTS`]; the first eleven are those of a job.
mod element {
    pub const KIND: i32 = 1;
    pub const QUEUE: i32 = 3;
    pub const TENANT: i32 = 4;
    pub const CONCURRENCY_KEY: i32 = 7;
    pub const PRIORITY: i32 = 8;
    pub const MAX_ATTEMPTS: i32 = 10;
    pub const ORD: i32 = 12;
    pub const ID: i32 = 13;
    pub const POSITION: i32 = 14;
    pub const UNIQUE_KEY: i32 = 15;
}

pub fn enqueue_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let jobs = required(call.raw(0), "jobs")?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let has_unique_keys = check(spi, jobs)?;
        if has_unique_keys {
            return insert_each(spi, jobs, &mut output);
        }
        let rows = insert(spi, jobs, routes_of(spi, jobs)?)?;
        for row in 0..rows.len() {
            output.push((1..=3).map(|column| rows.get(row, column)));
        }
        Ok(())
    })?;
    Ok(None)
}

/// Adds the jobs one by one in the order of their keys, so that two calls meet at their common keys in the same
/// order: neither can wait for the other while that one waits for it.
fn insert_each(spi: &Spi, jobs: Datum, output: &mut Output) -> Result<()> {
    let rows = parsed(|| spi.run(&ELEMENTS, &[Some(jobs)]))?;
    let mut elements = (0..rows.len())
        .map(|row| read_element(spi, &rows, row))
        .collect::<Result<Vec<_>>>()?;
    elements.sort_by(|(a, key_a), (b, key_b)| {
        let key = |key: &Option<UniqueKey>| key.as_ref().map(|unique| unique.key.clone());
        (a.tenant, key(key_a), a.position).cmp(&(b.tenant, key(key_b), b.position))
    });
    let mut results = Vec::with_capacity(elements.len());
    for (job, unique) in &elements {
        let (id, created) = enqueue_unique(spi, job, unique.as_ref())?;
        results.push((job.position, id, created));
    }
    results.sort_unstable();
    for (ord, (_, id, created)) in (1..).zip(results) {
        let ord: i32 = ord;
        output.push([datum(ord), datum(id), datum(created)].into_iter());
    }
    Ok(())
}

fn read_element<'r>(
    spi: &Spi,
    rows: &'r Rows,
    row: usize,
) -> Result<(NewJob<'r>, Option<UniqueKey>)> {
    let mut asked = Values::default();
    for (value, column) in asked.iter_mut().zip(1..) {
        *value = rows.get(row, column);
    }
    let ord: i32 = rows.required(row, element::ORD)?;
    let unique = Asked::of_row(rows, row, element::UNIQUE_KEY)?
        .unique_key(spi, &asked)
        .map_err(|failure| failure.of_element(ord))?;
    let named = Named {
        kind: rows.required(row, element::KIND)?,
        queue: rows.value(row, element::QUEUE),
        concurrency_key: rows.value(row, element::CONCURRENCY_KEY),
        priority: rows.required(row, element::PRIORITY)?,
        max_attempts: rows.value(row, element::MAX_ATTEMPTS),
    };
    let job = NewJob {
        values: named.routed(spi, &asked)?,
        tenant: rows.value(row, element::TENANT),
        id: rows.value(row, element::ID),
        position: rows.value(row, element::POSITION),
    };
    Ok((job, unique))
}

/// Whether the array, which has no mistake that SQL can see, says something of unique keys.
fn check(spi: &Spi, jobs: Datum) -> Result<bool> {
    let kind = spi.run(&KIND_OF_ARRAY, &[Some(jobs)])?;
    if !kind.required::<bool>(0, 1)? {
        return Err(bad_value("jobs must be an array")
            .detail("The jsonb value is of another type.")
            .hint("Pass an array of objects whose keys are the arguments of turnstile.enqueue."));
    }
    let most = i32::try_from(settings::max_payload()).unwrap_or(i32::MAX);
    let problem = spi.run(&CHECK, &[Some(jobs), datum(most)])?;
    if problem.len() == 0 {
        return kind.required(0, 2);
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

fn insert(spi: &Spi, jobs: Datum, routes: Columns) -> Result<Rows<'_>> {
    let arguments = [
        Some(jobs),
        datum(routes.kinds),
        datum(routes.queues),
        datum(routes.priority_offsets),
        datum(routes.overrides),
        datum(routes.concurrency_keys),
    ];
    parsed(|| spi.run(&INSERT, &arguments))
}

/// What SQL cannot check without trying: the error of a cast becomes one of the argument.
fn parsed<'spi>(run: impl FnOnce() -> Result<Rows<'spi>>) -> Result<Rows<'spi>> {
    let not_a_time = |cause| {
        let detail = match cause {
            CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
                report.message().to_owned()
            }
            other => other.rethrow(),
        };
        Err(bad_value("an element has no sensible run_at or unique_for")
            .detail(format!("The server says: {detail}."))
            .hint("Write a timestamp with time zone, such as 2030-01-31T12:00:00Z, and an interval such as 10 minutes."))
    };
    PgTryBuilder::new(AssertUnwindSafe(run))
        .catch_when(PgSqlErrorCode::ERRCODE_INVALID_DATETIME_FORMAT, not_a_time)
        .catch_when(PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW, not_a_time)
        .catch_when(PgSqlErrorCode::ERRCODE_INTERVAL_FIELD_OVERFLOW, not_a_time)
        .execute()
}

fn code_of(state: &str) -> PgSqlErrorCode {
    match state {
        "22004" => PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        "54000" => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        _ => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
    }
}
