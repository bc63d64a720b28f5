//! `enqueue` adds a job.

use crate::api::arguments::{check_size, name, required_name};
use crate::api::produce::enqueue_unique::enqueue_unique;
use crate::api::produce::new_job::{Asked, Named, NewJob};
use crate::job::lane::EVERY_QUEUE;
use crate::job::values::JobValues;
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value};
use crate::pg::spi::with_spi;
use crate::pg::{catalog, server};
use crate::table::{self, Jobs, Operation};
use pgrx::pg_sys::{self, Datum};
use std::rc::Rc;

arguments!(
    enqueue: KIND,
    PAYLOAD,
    QUEUE,
    TENANT,
    ACCOUNT,
    SESSION,
    CONCURRENCY_KEY,
    PRIORITY,
    RUN_AT,
    MAX_ATTEMPTS,
    UNIQUE_KEY,
    UNIQUE_MODE,
    UNIQUE_FOR,
    METADATA,
    UNIQUE_BY,
);

pub fn enqueue(call: &Call) -> Result<Option<Datum>> {
    use enqueue::*;
    must_be_writable()?;
    let kind = required_name(call.text(KIND), "kind")?;
    let queue = real_queue(call.text(QUEUE))?;
    name(call.text(TENANT), "tenant")?;
    name(call.text(ACCOUNT), "account")?;
    name(call.text(SESSION), "session")?;
    let key = name(call.text(CONCURRENCY_KEY), "concurrency_key")?;
    required(call.raw(PAYLOAD), "payload")?;
    let priority = required(call.int4(PRIORITY), "priority")?;
    check_size(call, PAYLOAD, "payload")?;
    check_size(call, METADATA, "metadata")?;
    check_max_attempts(call.int4(MAX_ATTEMPTS))?;
    let mode = required_name(call.text(UNIQUE_MODE), "unique_mode")?;
    let unique = Asked::of_call(call, UNIQUE_KEY, mode, UNIQUE_FOR, UNIQUE_BY)?;
    let named = Named {
        kind,
        queue,
        tenant: call.text(TENANT),
        concurrency_key: key,
        priority,
        max_attempts: call.int4(MAX_ATTEMPTS),
    };
    let asked = JobValues {
        kind: call.raw(KIND),
        payload: call.raw(PAYLOAD),
        queue: call.raw(QUEUE),
        tenant: call.raw(TENANT),
        account: call.raw(ACCOUNT),
        session: call.raw(SESSION),
        concurrency_key: call.raw(CONCURRENCY_KEY),
        priority: call.raw(PRIORITY),
        run_at: call.raw(RUN_AT),
        max_attempts: call.raw(MAX_ATTEMPTS),
        metadata: call.raw(METADATA),
    };
    let id = with_spi(|spi| {
        let unique = unique.unique_key(spi, &asked)?;
        let values = named.routed(spi, &asked)?;
        if unique.is_none() {
            let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
            if jobs.is_direct() {
                return add(&jobs, &values);
            }
        }
        let job = NewJob {
            values,
            tenant: call.text(TENANT),
            id: None,
            position: None,
        };
        enqueue_unique(spi, &job, unique.as_ref()).map(|(id, _)| id)
    })?;
    Ok(datum(id))
}

/// Adds a job without a unique key; returns its id.
fn add(jobs: &Rc<Jobs>, values: &JobValues) -> Result<i64> {
    let (id, position) = next_place()?;
    let row = values.row(id, position, server::now());
    table::command(|command| command.open(jobs, Operation::Insert).insert(row))?;
    Ok(id)
}

/// The id and the position of a new job.
pub fn next_place() -> Result<(i64, i64)> {
    let id = catalog::next_number(c"job_id_seq")?;
    let position = catalog::next_number(c"job_position_seq")?;
    Ok((id, position))
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

fn check_max_attempts(value: Option<i32>) -> Result<()> {
    match value {
        Some(number) if number < 1 => Err(bad_value("max_attempts must be at least 1")
            .detail(format!("It is {number}."))
            .hint("Leave it out for the queue's setting.")),
        _ => Ok(()),
    }
}
