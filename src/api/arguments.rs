//! Checks of names and other arguments that several verbs share.

use crate::job::lane::claimed_key;
use crate::job::queues;
use crate::permission;
use crate::pg::call::{Call, Jsonb, required};
use crate::pg::error::{Result, bad_value, null_argument, null_element, too_long};
use crate::pg::written::written_size;
use crate::pg::{server, settings};
use crate::runs::lease::is_lease;
use pgrx::datum::Interval;
use turnstile_scheduler::LONGEST_NAME;

/// The places of these arguments in each call about a job, and in each call about one of its runs.
const JOB_ID: usize = 0;
const ATTEMPT: usize = 1;

/// A name that is not empty and fits; NULL stays NULL.
pub fn name<'a>(value: Option<&'a str>, argument: &str) -> Result<Option<&'a str>> {
    match value {
        Some("") => Err(bad_value(format!("{argument} must not be empty"))
            .detail(format!("The argument \"{argument}\" is an empty string."))
            .hint("Pass a name; an optional one can be left out.")),
        Some(text) if text.len() > LONGEST_NAME => Err(too_long(format!(
            "{argument} is longer than {LONGEST_NAME} bytes"
        ))
        .detail(format!("It has {} bytes.", text.len()))
        .hint("Use a short name or a hash.")),
        other => Ok(other),
    }
}

pub fn required_name<'a>(value: Option<&'a str>, argument: &str) -> Result<&'a str> {
    name(value, argument)?.ok_or_else(|| null_argument(argument))
}

pub fn job(call: &Call) -> Result<i64> {
    call.int8(JOB_ID).ok_or_else(|| null_argument("job_id"))
}

pub fn job_ids(call: &Call, index: usize) -> Result<Vec<i64>> {
    let found = required(call.int8s(index, "job_ids")?, "job_ids")?;
    let all: Option<Vec<i64>> = found.into_iter().collect();
    all.ok_or_else(|| null_element("job_ids"))
}

/// The keys of an array of queues that the caller may claim from.
pub fn queue_keys(call: &Call, index: usize) -> Result<Vec<u64>> {
    let key = |queue: &Option<String>| {
        let queue = queue.as_deref().ok_or_else(|| null_element("queues"))?;
        required_name(Some(queue), "queues")?;
        permission::claim(queue)?;
        Ok(noted(queue))
    };
    let queues = call.texts(index, "queues")?;
    required(queues, "queues")?.iter().map(key).collect()
}

/// The key of a queue that the caller may claim from.
pub fn queue_to_claim(name: Option<&str>) -> Result<u64> {
    let name = required_name(name, "queue")?;
    permission::claim(name)?;
    Ok(noted(name))
}

/// The claim may have to name the queue in a statement.
fn noted(queue: &str) -> u64 {
    let key = claimed_key(queue);
    queues::note(key, queue);
    key
}

/// Checks that a jsonb to be stored with a job fits.
pub fn check_size(call: &Call, index: usize, argument: &str) -> Result<()> {
    call.jsonb(index)
        .map_or(Ok(()), |jsonb| must_fit(jsonb, argument))
}

pub fn must_fit(jsonb: Jsonb, argument: &str) -> Result<()> {
    let (size, most) = (jsonb.size(), settings::max_payload());
    // What is too large is not even decompressed.
    let written = match size <= most {
        true => written_size(jsonb.bytes(), most)?,
        false => size,
    };
    if written <= most {
        return Ok(());
    }
    let numbers = match written > size {
        true => " with all digits of its numbers",
        false => "",
    };
    Err(
        too_long(format!("{argument} is over turnstile.max_payload"))
            .detail(format!(
                "It has {written} bytes{numbers}; {most} are allowed."
            ))
            .hint("Keep the data elsewhere and put a reference to it here."),
    )
}

/// The run that a finish is about.
pub fn run(call: &Call) -> Result<(i64, i32)> {
    let job_id = job(call)?;
    let attempt = call.int4(ATTEMPT).ok_or_else(|| null_argument("attempt"))?;
    Ok((job_id, attempt))
}

/// A lease must leave the worker some time.
pub fn check_lease(call: &Call, index: usize) -> Result<()> {
    match call.interval(index) {
        Some(lease) if !is_lease(&lease) => {
            Err(bad_value("lease must be positive and at most 100 years")
                .detail(format!("It is {} microseconds.", lease.as_micros()))
                .hint("Leave it out for the queue's setting."))
        }
        _ => Ok(()),
    }
}

/// The interval that a rate is for.
pub fn check_rate_per(call: &Call, index: usize) -> Result<()> {
    match call.interval(index).map(|time| time.as_micros()) {
        Some(micros) if !(1..=server::LONGEST_TIME).contains(&micros) => {
            Err(bad_value("rate_per must be positive and at most 100 years")
                .detail(format!("It is {micros} microseconds."))
                .hint("Leave it out for 1 second."))
        }
        _ => Ok(()),
    }
}

/// Checks a time to wait.
pub fn check_wait(call: &Call, index: usize, argument: &str) -> Result<()> {
    must_be_wait(call.interval(index), argument)
}

pub fn must_be_wait(time: Option<Interval>, argument: &str) -> Result<()> {
    match time.map(|time| time.as_micros()) {
        Some(micros) if !(0..=server::LONGEST_TIME).contains(&micros) => Err(bad_value(format!(
            "{argument} must not be negative, and at most 100 years"
        ))
        .detail(format!("It is {micros} microseconds."))
        .hint("Pass the time from now on.")),
        _ => Ok(()),
    }
}

/// How many jobs a call may be about at most.
pub fn bound(call: &Call, index: usize) -> Result<usize> {
    let most = call.int4(index).ok_or_else(|| null_argument("max_jobs"))?;
    usize::try_from(most).map_err(|_| {
        bad_value("max_jobs must not be negative")
            .detail(format!("It is {most}."))
            .hint("Pass how many jobs the call may be about at most.")
    })
}

/// An interval in microseconds that is not negative.
pub fn duration(call: &Call, index: usize, name: &str) -> Result<Option<i64>> {
    check_wait(call, index, name)?;
    let time = call.interval(index);
    Ok(time.and_then(|time| i64::try_from(time.as_micros()).ok()))
}
