//! Verbs that end jobs from outside: `cancel`, `discard`, and the same for many jobs.

use crate::api::arguments::job;
use crate::api::operate::filter::{Choice, Filter, choice};
use crate::permission;
use crate::pg::call::{Call, arguments, count, datum, must_be_writable};
use crate::pg::error::{Result, never_changes, no_such_job};
use crate::pg::rounds::Rounds;
use crate::pg::spi::{Spi, with_spi};
use crate::runs::end_waiting::{Outcome, end_waiting};
use crate::runs::finish::{Failing, fail_run, state_of, wrong_state};
use pgrx::pg_sys::Datum;

arguments!(discard: JOB_ID, ATTEMPT, ERROR);

static FIND_JOBS: Choice = choice!("find_jobs", "live");

const WAITING: [&str; 4] = ["available", "scheduled", "retryable", "blocked"];
const LIVE: [&str; 5] = ["available", "scheduled", "retryable", "blocked", "running"];

pub fn cancel(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let job_id = job(call)?;
    let state = with_spi(|spi| permission::manage(spi, job_id, || cancel_job(spi, job_id)))?;
    Ok(datum(state))
}

fn cancel_job(spi: &Spi, job_id: i64) -> Result<&'static str> {
    let mut rounds = Rounds::new();
    loop {
        let before = end_waiting(spi, &[job_id], "cancelled", None)?;
        match before.first() {
            Some(Outcome::Runs) => return Ok("running"),
            Some(Outcome::Stops) => return Ok("blocked"),
            Some(Outcome::Ended) => return Ok("cancelled"),
            None => {}
        }
        match state_of(spi, job_id)?.as_deref() {
            None => return Err(no_such_job(job_id)),
            Some("cancelled") => return Ok("cancelled"),
            Some(state @ ("completed" | "discarded")) => {
                let hint = "A finished job cannot be cancelled.";
                return Err(wrong_state(job_id, state, hint));
            }
            // Another transaction has brought it back meanwhile.
            Some(_) => rounds.begin_again((), || never_changes(job_id))?,
        }
    }
}

pub fn discard(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let job_id = job(call)?;
    let error = call.raw(discard::ERROR);
    let state = with_spi(|spi| match call.int4(discard::ATTEMPT) {
        Some(attempt) => fail_run(spi, job_id, attempt, &Failing::for_good(error)),
        None => permission::manage(spi, job_id, || discard_waiting(spi, job_id, error)),
    })?;
    Ok(datum(state))
}

fn discard_waiting(spi: &Spi, job_id: i64, error: Option<Datum>) -> Result<String> {
    let mut rounds = Rounds::new();
    loop {
        let before = end_waiting(spi, &[job_id], "discarded", error)?;
        match before.first() {
            Some(Outcome::Runs) => {
                let hint = "Pass the attempt to discard the run, or ask for its cancellation.";
                return Err(wrong_state(job_id, "running", hint));
            }
            Some(Outcome::Stops) => return Ok("blocked".into()),
            Some(Outcome::Ended) => return Ok("discarded".into()),
            None => {}
        }
        match state_of(spi, job_id)? {
            None => return Err(no_such_job(job_id)),
            Some(state) if state == "discarded" => return Ok(state),
            Some(state) if state == "completed" || state == "cancelled" => {
                let hint = "A finished job cannot be discarded.";
                return Err(wrong_state(job_id, &state, hint));
            }
            // Another transaction has brought it back meanwhile.
            Some(_) => rounds.begin_again((), || never_changes(job_id))?,
        }
    }
}

pub fn cancel_many(call: &Call) -> Result<Option<Datum>> {
    end_many(call, &LIVE, "cancelled")
}

pub fn discard_many(call: &Call) -> Result<Option<Datum>> {
    end_many(call, &WAITING, "discarded")
}

fn end_many(call: &Call, states: &[&'static str], state: &str) -> Result<Option<Datum>> {
    must_be_writable()?;
    let filter = Filter::of(call, states, &[])?;
    let ended = with_spi(|spi| {
        let ids = filter.lock(spi, &FIND_JOBS, 0)?;
        Ok(end_waiting(spi, &ids, state, None)?.len())
    })?;
    Ok(count(ended))
}
