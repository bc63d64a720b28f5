//! One element of the array that `enqueue_many` takes.

use crate::api::produce::new_job::Named;
use crate::api::produce::ties::Ties;
use crate::job::lane::EVERY_QUEUE;
use crate::job::unique::Mode;
use crate::job::values::JobValues;
use crate::pg::call::{MOST_ELEMENTS, MOST_NAMES, datum};
use crate::pg::error::{Failure, Result, bad_value, quoted, too_long, too_many};
use crate::pg::jsonb::{Json, empty_object};
use crate::pg::written::written_size;
use crate::pg::{server, settings};
use pgrx::PgTryBuilder;
use pgrx::datum::Interval;
use pgrx::pg_sys::Datum;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::PgSqlErrorCode;
use std::panic::AssertUnwindSafe;
use turnstile_scheduler::LONGEST_NAME;

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
    priority: Option<i32>,
    run_at: Option<Datum>,
    max_attempts: Option<i32>,
    metadata: Option<Datum>,
    pub unique_key: Option<&'j str>,
    pub unique_mode: Option<&'j str>,
    pub unique_for: Option<Interval>,
    pub unique_by: Option<Vec<Option<String>>>,
    pub unique_states: Option<Vec<Option<String>>>,
    pub ties: Ties,
    /// The name by which other elements refer to it.
    pub reference: Option<&'j str>,
    /// Other elements that it comes after.
    pub after_refs: Vec<&'j str>,
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
        if element.kind.is_empty() {
            return Err(bad_value("has no kind"));
        }
        let comes_after = element.comes_after_others();
        element.ties.check_flags(comes_after)?;
        Ok(element)
    }

    fn set(&mut self, key: &str, value: &Json<'j>) -> Result<()> {
        match key {
            "kind" => self.kind = name(key, not_null(key, value)?)?,
            "queue" => self.queue = given(value, queue)?,
            "tenant" => self.tenant = given(value, |it| name(key, it))?,
            "account" => self.account = given(value, |it| name(key, it))?,
            "session" => self.session = given(value, |it| name(key, it))?,
            "concurrency_key" => self.concurrency_key = given(value, |it| name(key, it))?,
            "priority" => self.priority = given(value, |it| whole(key, it))?,
            "max_attempts" => self.max_attempts = given(value, max_attempts)?,
            // It may be a JSON null.
            "payload" => self.payload = stored(key, value)?,
            "metadata" => self.metadata = given(value, |it| stored(key, it))?.flatten(),
            "run_at" => self.run_at = given(value, |it| time(key, it, server::timestamp))?,
            "unique_key" => self.unique_key = given(value, |it| name(key, it))?,
            "unique_mode" => self.unique_mode = given(value, mode)?,
            "unique_for" => self.unique_for = given(value, |it| time(key, it, server::interval))?,
            "unique_by" => self.unique_by = given(value, |it| columns(key, it))?,
            "unique_states" => self.unique_states = given(value, |it| columns(key, it))?,
            "parent" => self.ties.parent = given(value, |it| id(key, it))?,
            "after" => self.ties.after = given(value, |it| ids(key, it))?.unwrap_or_default(),
            "after_any_end" => self.ties.any_end = flag(key, not_null(key, value)?)?,
            "after_hold" => self.ties.holds = flag(key, not_null(key, value)?)?,
            "ref" => self.reference = given(value, |it| name(key, it))?,
            "after_refs" => {
                self.after_refs = given(value, |it| names(key, it))?.unwrap_or_default()
            }
            _ => return Err(bad_value(format!("has the unknown key {}", quoted(key)))),
        }
        Ok(())
    }

    /// Whether it waits for other jobs.
    pub fn comes_after_others(&self) -> bool {
        !self.ties.after.is_empty() || !self.after_refs.is_empty()
    }

    pub fn is_about_a_unique_key(&self) -> bool {
        self.unique_key.is_some()
            || self.unique_by.is_some()
            || self.unique_for.is_some()
            || self.unique_mode.is_some()
            || self.unique_states.is_some()
    }

    /// What the routes decide on.
    pub fn named(&self) -> Named<'j> {
        Named {
            kind: self.kind,
            queue: self.queue,
            tenant: self.tenant,
            account: self.account,
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
            priority: self.priority.and_then(datum),
            run_at: self.run_at,
            max_attempts: self.max_attempts.and_then(datum),
            metadata: self.metadata,
            parent: self.ties.parent.and_then(datum),
            claim_epoch: None,
            is_blocked: false,
        }
    }
}

/// A null is the same as a key that is left out.
fn given<'j, T>(value: &Json<'j>, read: impl FnOnce(&Json<'j>) -> Result<T>) -> Result<Option<T>> {
    match value.is_null() {
        true => Ok(None),
        false => read(value).map(Some),
    }
}

fn not_null<'v, 'j>(key: &str, value: &'v Json<'j>) -> Result<&'v Json<'j>> {
    match value.is_null() {
        true => Err(Failure::new(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            format!("{key} must not be null"),
        )),
        false => Ok(value),
    }
}

fn text<'j>(key: &str, value: &Json<'j>) -> Result<&'j str> {
    let not_a_string = || bad_value(format!("{key} must be a string"));
    value.text().ok_or_else(not_a_string)
}

fn name<'j>(key: &str, value: &Json<'j>) -> Result<&'j str> {
    match text(key, value)? {
        "" => Err(bad_value(format!("{key} must not be empty"))),
        long if long.len() > LONGEST_NAME => Err(too_long(format!(
            "{key} is longer than {LONGEST_NAME} bytes"
        ))),
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

fn id(key: &str, value: &Json) -> Result<i64> {
    let no_id = || bad_value(format!("{key} must be the id of a job"));
    value.long().ok_or_else(no_id)
}

fn ids(key: &str, value: &Json) -> Result<Vec<i64>> {
    elements(key, value)?.map(|each| id(key, &each)).collect()
}

fn names<'j>(key: &str, value: &Json<'j>) -> Result<Vec<&'j str>> {
    elements(key, value)?.map(|each| name(key, &each)).collect()
}

fn elements<'j>(key: &str, value: &Json<'j>) -> Result<impl Iterator<Item = Json<'j>>> {
    if value.count() > MOST_ELEMENTS {
        return Err(too_many(key, MOST_ELEMENTS));
    }
    let no_array = || bad_value(format!("{key} must be an array"));
    value.elements().ok_or_else(no_array)
}

fn flag(key: &str, value: &Json) -> Result<bool> {
    let no_flag = || bad_value(format!("{key} must be true or false"));
    value.boolean().ok_or_else(no_flag)
}

fn max_attempts(value: &Json) -> Result<i32> {
    match whole("max_attempts", value)? {
        ..1 => Err(bad_value("max_attempts must be at least 1")),
        number => Ok(number),
    }
}

/// What is stored with the job.
fn stored(key: &str, value: &Json) -> Result<Option<Datum>> {
    let ((stored, jsonb), most) = (value.to_datum(), settings::max_payload());
    match written_size(jsonb, most)? > most {
        true => Err(too_long(format!("{key} is over turnstile.max_payload"))),
        false => Ok(stored),
    }
}

fn mode<'j>(value: &Json<'j>) -> Result<&'j str> {
    let mode = text("unique_mode", value)?;
    match Mode::named(mode) {
        Some(_) => Ok(mode),
        None => Err(bad_value("unique_mode is unknown")),
    }
}

fn columns(key: &str, value: &Json) -> Result<Vec<Option<String>>> {
    let not_strings = || bad_value(format!("{key} must be an array of strings"));
    let column = |column: Json| match column.is_null() {
        true => Ok(None),
        false => {
            column.text().ok_or_else(not_strings)?;
            name(key, &column).map(|name| Some(name.to_owned()))
        }
    };
    if value.count() > MOST_NAMES {
        return Err(too_many(key, MOST_NAMES));
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
    if text.len() > LONGEST_NAME {
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
    time.ok_or_else(|| {
        let text = quoted(text);
        bad_value(format!("{key} is not a valid time: {text}"))
    })
}
