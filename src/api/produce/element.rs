//! One element of the array that `enqueue_many` takes.

use crate::api::arguments::LONGEST;
use crate::api::produce::new_job::Named;
use crate::job::lane::EVERY_QUEUE;
use crate::job::unique::Mode;
use crate::job::values::JobValues;
use crate::pg::call::{MOST_NAMES, datum};
use crate::pg::error::{Failure, Result, bad_value, quoted, too_long, too_many};
use crate::pg::jsonb::{Json, empty_object};
use crate::pg::{server, settings};
use pgrx::PgTryBuilder;
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::PgSqlErrorCode;
use std::panic::AssertUnwindSafe;

/// The arguments of `enqueue`; NULL is the same as a key that is left out.
#[derive(Default)]
pub struct Element<'j> {
    kind: &'j str,
    payload: Option<Datum>,
    queue: Option<&'j str>,
    pub tenant: Option<&'j str>,
    account: Option<&'j str>,
    session: Option<&'j str>,
    concurrency_key: Option<&'j str>,
    priority: i32,
    run_at: Option<Datum>,
    max_attempts: Option<i32>,
    metadata: Option<Datum>,
    pub unique_key: Option<&'j str>,
    pub unique_mode: Option<&'j str>,
    pub unique_for: Option<Interval>,
    pub unique_by: Option<Vec<Option<String>>>,
}

impl<'j> Element<'j> {
    /// The element at this place of the array, counted from 1.
    pub fn read(json: &Json<'j>, ord: i32) -> Result<Self> {
        Self::of_object(json).map_err(|failure| {
            failure
                .of_element(ord)
                .detail("It is the first element that is not a valid job, counted from 1; no job was added.")
                .hint(
                    "Each element is an object whose keys are the arguments of turnstile.enqueue.",
                )
        })
    }

    fn of_object(json: &Json<'j>) -> Result<Self> {
        let fields = json.fields().ok_or_else(|| bad_value("is not an object"))?;
        let mut element = Self::default();
        for (key, value) in fields {
            element.set(key, &value)?;
        }
        match element.kind {
            "" => Err(bad_value("has no kind")),
            _ => Ok(element),
        }
    }

    fn set(&mut self, key: &str, value: &Json<'j>) -> Result<()> {
        // The payload of a job may be a JSON null.
        if value.is_null() && key != "payload" {
            return may_be_null(key);
        }
        match key {
            "kind" => self.kind = name(key, value)?,
            "queue" => self.queue = Some(queue(value)?),
            "tenant" => self.tenant = Some(name(key, value)?),
            "account" => self.account = Some(name(key, value)?),
            "session" => self.session = Some(name(key, value)?),
            "concurrency_key" => self.concurrency_key = Some(name(key, value)?),
            "priority" => self.priority = whole(key, value)?,
            "max_attempts" => self.max_attempts = Some(max_attempts(value)?),
            "payload" => self.payload = stored(key, value)?,
            "metadata" => self.metadata = stored(key, value)?,
            "run_at" => self.run_at = Some(time(key, value, server::timestamp)?),
            "unique_key" => self.unique_key = Some(name(key, value)?),
            "unique_mode" => self.unique_mode = Some(mode(value)?),
            "unique_for" => self.unique_for = Some(time(key, value, server::interval)?),
            "unique_by" => self.unique_by = Some(columns(value)?),
            _ => return Err(bad_value(format!("has the unknown key {}", quoted(key)))),
        }
        Ok(())
    }

    pub fn is_about_a_unique_key(&self) -> bool {
        self.unique_key.is_some() || self.unique_by.is_some() || self.unique_for.is_some()
    }

    /// What the routes decide on.
    pub fn named(&self) -> Named<'j> {
        Named {
            kind: self.kind,
            queue: self.queue,
            tenant: self.tenant,
            concurrency_key: self.concurrency_key,
            priority: self.priority,
            max_attempts: self.max_attempts,
        }
    }

    /// What was asked for.
    pub fn values(&self) -> JobValues {
        JobValues {
            kind: datum(self.kind),
            payload: self.payload.or_else(empty_object),
            queue: self.queue.and_then(datum),
            tenant: self.tenant.and_then(datum),
            account: self.account.and_then(datum),
            session: self.session.and_then(datum),
            concurrency_key: self.concurrency_key.and_then(datum),
            priority: datum(self.priority),
            run_at: self.run_at,
            max_attempts: self.max_attempts.and_then(datum),
            metadata: self.metadata,
        }
    }
}

fn may_be_null(key: &str) -> Result<()> {
    match key {
        "kind" | "priority" | "unique_mode" => Err(Failure::new(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("{key} must not be null"),
        )),
        "queue" | "tenant" | "account" | "session" | "concurrency_key" | "max_attempts"
        | "metadata" | "run_at" | "unique_key" | "unique_for" | "unique_by" => Ok(()),
        _ => Err(bad_value(format!("has the unknown key {}", quoted(key)))),
    }
}

fn text<'j>(key: &str, value: &Json<'j>) -> Result<&'j str> {
    let not_a_string = || bad_value(format!("{key} must be a string"));
    value.text().ok_or_else(not_a_string)
}

fn name<'j>(key: &str, value: &Json<'j>) -> Result<&'j str> {
    match text(key, value)? {
        "" => Err(bad_value(format!("{key} must not be empty"))),
        long if long.len() > LONGEST => {
            Err(too_long(format!("{key} is longer than {LONGEST} bytes")))
        }
        name => Ok(name),
    }
}

fn queue<'j>(value: &Json<'j>) -> Result<&'j str> {
    match name("queue", value)? {
        EVERY_QUEUE => Err(bad_value(
            "queue must not be *, which stands for all queues",
        )),
        queue => Ok(queue),
    }
}

fn whole(key: &str, value: &Json) -> Result<i32> {
    let not_whole = || bad_value(format!("{key} must be a whole number of 32 bits"));
    value.whole().ok_or_else(not_whole)
}

fn max_attempts(value: &Json) -> Result<i32> {
    match whole("max_attempts", value)? {
        ..1 => Err(bad_value("max_attempts must be at least 1")),
        number => Ok(number),
    }
}

/// What is stored with the job.
fn stored(key: &str, value: &Json) -> Result<Option<Datum>> {
    match value.to_datum() {
        (_, size) if size > settings::max_payload() => {
            Err(too_long(format!("{key} is over turnstile.max_payload")))
        }
        (stored, _) => Ok(stored),
    }
}

fn mode<'j>(value: &Json<'j>) -> Result<&'j str> {
    let mode = text("unique_mode", value)?;
    match Mode::named(mode) {
        Some(_) => Ok(mode),
        None => Err(bad_value("unique_mode is unknown")),
    }
}

fn columns(value: &Json) -> Result<Vec<Option<String>>> {
    let not_strings = || bad_value("unique_by must be an array of strings");
    let column = |column: Json| match column.is_null() {
        true => Ok(None),
        false => {
            column.text().ok_or_else(not_strings)?;
            name("unique_by", &column).map(|name| Some(name.to_owned()))
        }
    };
    if value.count() > MOST_NAMES {
        return Err(too_many("unique_by", MOST_NAMES));
    }
    value
        .elements()
        .ok_or_else(not_strings)?
        .map(column)
        .collect()
}

/// A time as the server reads it; its errors become errors of the element.
fn time<T>(key: &str, value: &Json, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    let text = text(key, value)?;
    if text.len() > LONGEST {
        return Err(bad_value(format!("{key} is too long for a time")));
    }
    let not_a_time = |cause| match cause {
        CaughtError::PostgresError(_) | CaughtError::ErrorReport(_) => Ok(None),
        other => other.rethrow(),
    };
    let time = PgTryBuilder::new(AssertUnwindSafe(|| Ok(read(text))))
        .catch_when(PgSqlErrorCode::ERRCODE_INVALID_DATETIME_FORMAT, not_a_time)
        .catch_when(PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW, not_a_time)
        .catch_when(PgSqlErrorCode::ERRCODE_INTERVAL_FIELD_OVERFLOW, not_a_time)
        .catch_when(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, not_a_time)
        .execute()?;
    time.ok_or_else(|| bad_value(format!("{key} is not a valid time: \"{text}\"")))
}
