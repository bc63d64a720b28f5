use crate::api::names::{name, required_name};
use crate::call::{Call, datum, must_be_writable, required};
use crate::error::{Failure, Result, bad_value, too_long};
use crate::lane::EVERY_QUEUE;
use crate::plan::{Statement, statement, with_spi};
use crate::{routes, settings};
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;

static INSERT: Statement = statement!(
    "enqueue",
    [
        TEXTOID,
        JSONBOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        INT4OID,
        TIMESTAMPTZOID,
        INT4OID,
        JSONBOID
    ]
);

const UNIQUE_MODES: [&str; 6] = [
    "until_executing",
    "until_executed",
    "until_expired",
    "while_executing",
    "until_and_while_executing",
    "replace",
];

/// Arguments by position, as declared in `sql/schema/functions.sql`.
mod argument {
    pub const KIND: usize = 0;
    pub const PAYLOAD: usize = 1;
    pub const QUEUE: usize = 2;
    pub const TENANT: usize = 3;
    pub const ACCOUNT: usize = 4;
    pub const SESSION: usize = 5;
    pub const CONCURRENCY_KEY: usize = 6;
    pub const PRIORITY: usize = 7;
    pub const RUN_AT: usize = 8;
    pub const MAX_ATTEMPTS: usize = 9;
    pub const UNIQUE_KEY: usize = 10;
    pub const UNIQUE_MODE: usize = 11;
    pub const METADATA: usize = 13;
}

pub fn enqueue(call: &Call) -> Result<Option<Datum>> {
    use argument::*;
    must_be_writable()?;
    let kind = required_name(call.text(KIND), "kind")?;
    let queue = real_queue(call.text(QUEUE))?;
    name(call.text(TENANT), "tenant")?;
    name(call.text(ACCOUNT), "account")?;
    name(call.text(SESSION), "session")?;
    let key = name(call.text(CONCURRENCY_KEY), "concurrency_key")?;
    required(call.raw(PAYLOAD), "payload")?;
    let priority = required(call.int4(PRIORITY), "priority")?;
    check_payload(call.raw_size(PAYLOAD))?;
    check_max_attempts(call.int4(MAX_ATTEMPTS))?;
    check_unique(call)?;
    let id = with_spi(|spi| {
        let routes = routes::current(spi)?;
        let target = routes.target(kind, queue, key, priority);
        let max_attempts = match call.int4(MAX_ATTEMPTS) {
            Some(number) => number,
            None => routes::max_attempts(spi, target.queue)?,
        };
        let columns = [
            call.raw(KIND),
            call.raw(PAYLOAD),
            datum(target.queue),
            call.raw(TENANT),
            call.raw(ACCOUNT),
            call.raw(SESSION),
            target.concurrency_key.and_then(datum),
            datum(target.priority),
            call.raw(RUN_AT),
            datum(max_attempts),
            call.raw(METADATA),
        ];
        spi.run(&INSERT, &columns)?.required::<i64>(0, 1)
    })?;
    Ok(datum(id))
}

/// A queue that a job can be in; NULL: the routes decide.
fn real_queue(value: Option<&str>) -> Result<Option<&str>> {
    match name(value, "queue")? {
        Some(EVERY_QUEUE) => Err(bad_value("queue must not be *")
            .detail("The name * stands for all queues.")
            .hint("Name one queue, or leave it out to have it routed by the kind.")),
        queue => Ok(queue),
    }
}

fn check_payload(size: usize) -> Result<()> {
    let most = settings::max_payload();
    if size <= most {
        return Ok(());
    }
    Err(too_long("the payload is over turnstile.max_payload")
        .detail(format!("It has {size} bytes; {most} are allowed."))
        .hint("Keep the data elsewhere and put a reference into the payload."))
}

fn check_max_attempts(value: Option<i32>) -> Result<()> {
    match value {
        Some(number) if number < 1 => Err(bad_value("max_attempts must be at least 1")
            .detail(format!("It is {number}."))
            .hint("Leave it out for the queue's setting.")),
        _ => Ok(()),
    }
}

fn check_unique(call: &Call) -> Result<()> {
    let mode = required_name(call.text(argument::UNIQUE_MODE), "unique_mode")?;
    if !UNIQUE_MODES.contains(&mode) {
        return Err(bad_value("unique_mode is unknown")
            .detail(format!("It is \"{mode}\"."))
            .hint("Use until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace."));
    }
    if name(call.text(argument::UNIQUE_KEY), "unique_key")?.is_none() {
        return Ok(());
    }
    Err(Failure::new(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        "unique_key is not supported yet",
    )
    .detail("This version would not keep duplicates out.")
    .hint("Leave unique_key out."))
}
