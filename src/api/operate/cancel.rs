//! Verbs that end jobs from outside: `cancel`, `discard`, and the same for many jobs.

use crate::api::arguments::job;
use crate::api::operate::filter::{Choice, Filter, choice};
use crate::job::state::{End, LIVE, State, WAITING};
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

pub fn cancel(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let job_id = job(call)?;
    let state = with_spi(|spi| permission::manage(spi, job_id, || cancel_job(spi, job_id)))?;
    Ok(datum(state.name()))
}

fn cancel_job(spi: &Spi, job_id: i64) -> Result<State> {
    let mut rounds = Rounds::new();
    loop {
        let before = end_waiting(spi, &[job_id], End::Cancelled, None)?;
        match before.first() {
            Some(Outcome::Runs) => return Ok(State::Running),
            Some(Outcome::Stops) => return Ok(State::Blocked),
            Some(Outcome::Ended) => return Ok(State::Cancelled),
            None => {}
        }
        match state_of(spi, job_id)? {
            None => return Err(no_such_job(job_id)),
            Some(state @ State::Cancelled) => return Ok(state),
            Some(state) if state.is_finished() => {
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
    Ok(datum(state.name()))
}

fn discard_waiting(spi: &Spi, job_id: i64, error: Option<Datum>) -> Result<State> {
    let mut rounds = Rounds::new();
    loop {
        let before = end_waiting(spi, &[job_id], End::Discarded, error)?;
        match before.first() {
            Some(Outcome::Runs) => {
                let hint = "Pass the attempt to discard the run, or ask for its cancellation.";
                return Err(wrong_state(job_id, State::Running, hint));
            }
            Some(Outcome::Stops) => return Ok(State::Blocked),
            Some(Outcome::Ended) => return Ok(State::Discarded),
            None => {}
        }
        match state_of(spi, job_id)? {
            None => return Err(no_such_job(job_id)),
            Some(state @ State::Discarded) => return Ok(state),
            Some(state) if state.is_finished() => {
                let hint = "A finished job cannot be discarded.";
                return Err(wrong_state(job_id, state, hint));
            }
            // Another transaction has brought it back meanwhile.
            Some(_) => rounds.begin_again((), || never_changes(job_id))?,
        }
    }
}

pub fn cancel_many(call: &Call) -> Result<Option<Datum>> {
    end_many(call, &LIVE, End::Cancelled)
}

pub fn discard_many(call: &Call) -> Result<Option<Datum>> {
    end_many(call, &WAITING, End::Discarded)
}

fn end_many(call: &Call, states: &[State], end: End) -> Result<Option<Datum>> {
    must_be_writable()?;
    let filter = Filter::of(call, states, &[])?;
    let ended = with_spi(|spi| {
        let ids = filter.lock(spi, &FIND_JOBS, 0)?;
        Ok(end_waiting(spi, &ids, end, None)?.len())
    })?;
    Ok(count(ended))
}
