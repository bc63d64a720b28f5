//! `retry` and `retry_many` bring jobs back.

use crate::api::arguments::job;
use crate::api::operate::filter::{Choice, Filter, choice};
use crate::api::produce::unique_key::{key_is_taken, take_back};
use crate::job::state::State;
use crate::permission;
use crate::pg::call::{Call, count, datum, must_be_writable};
use crate::pg::catalog;
use crate::pg::error::{Failure, Result, cancelled_by_trigger, never_changes, no_such_job};
use crate::pg::rounds::Rounds;
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::runs::finish::{state_of, wrong_state};
use crate::transaction::pending;
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::PgSqlErrorCode;

static LIVE: Statement = statement!("retry_live", [INT8ARRAYOID]);
static LOCK_FINISHED: Statement = statement!("lock_finished", [INT8ARRAYOID]);
static LOST_PARENT: Statement = statement!("lost_parent", [INT8OID]);
static FAILED_CHILDREN: Statement = statement!("failed_children", [INT8ARRAYOID]);
static FORGET_TIES: Statement = statement!("forget_ties", [INT8ARRAYOID]);
static LINE_UP_LATER: Statement = statement!("line_up_later", [INT8ARRAYOID]);
static REOPEN: Statement = statement!("reopen_batches", [INT8ARRAYOID]);
static MAKE_FINISHED: Statement = statement!("retry_finished", []);
static FINISHED: Statement = Statement::of_catalog(&MAKE_FINISHED, &[pg_sys::INT8ARRAYOID]);
static FIND_JOBS: Choice = choice!("find_jobs", "live");
static FIND_FINISHED: Choice = choice!("find_finished", "finished", "retriable");

const USUAL: [State; 3] = [State::Retryable, State::Cancelled, State::Discarded];
const OTHERS: [State; 2] = [State::Scheduled, State::Completed];

pub fn retry(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let job_id = job(call)?;
    let state = with_spi(|spi| permission::manage(spi, job_id, || retry_job(spi, job_id)))?;
    Ok(datum(state.name()))
}

fn retry_job(spi: &Spi, job_id: i64) -> Result<State> {
    let mut rounds = Rounds::new();
    loop {
        if make_available(spi, &[job_id])? > 0 {
            return Ok(State::Available);
        }
        match state_of(spi, job_id)? {
            None => return Err(no_such_job(job_id)),
            Some(state @ State::Available) => return Ok(state),
            Some(state @ State::Running) => {
                let hint = "It can be brought back once it has ended.";
                return Err(wrong_state(job_id, state, hint));
            }
            Some(state) if state.is_finished() => {
                // The look at its last end must be younger than the lock: the attempt that it shows is
                // never to be made again.
                spi.run(&LOCK_FINISHED, &[datum(vec![job_id])])?;
                if let Some(parent) = spi.run(&LOST_PARENT, &[datum(job_id)])?.value(0, 1) {
                    return Err(has_lost_parent(job_id, parent));
                }
                if !take_back(spi, &[job_id])?.is_empty() {
                    return Err(key_is_taken(job_id));
                }
                if bring_back(spi, &[job_id])? > 0 {
                    let has_children = bring_back_children(spi, &[job_id])?;
                    let is_behind = line_up_later(spi, &[job_id])?;
                    return Ok(match has_children || is_behind {
                        true => State::Blocked,
                        false => State::Available,
                    });
                }
                // No other call can bring it back while its history is locked.
                if state_of(spi, job_id)?.is_some_and(State::is_finished) {
                    return Err(cancelled_by_trigger("insertion"));
                }
            }
            Some(state @ State::Blocked) => {
                let hint = "It goes on when the jobs that it waits for have ended.";
                return Err(wrong_state(job_id, state, hint));
            }
            // It was put off meanwhile.
            Some(_) => {}
        }
        rounds.begin_again((), || never_changes(job_id))?;
    }
}

fn has_lost_parent(job_id: i64, parent: i64) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("job {job_id} does not come back without its parent"),
    )
    .detail(format!(
        "Nothing is left of job {parent}, of which it is a child."
    ))
    .hint("Enqueue it again, or set parent to NULL in its row of turnstile.job_history.")
}

/// Makes jobs available that wait for their time; returns how many.
fn make_available(spi: &Spi, ids: &[i64]) -> Result<usize> {
    let rows = spi.run(&LIVE, &[datum(ids)])?;
    for row in 0..rows.len() {
        if !rows.required::<bool>(row, 2)? {
            return Err(cancelled_by_trigger("update"));
        }
    }
    Ok(rows.len())
}

/// Makes finished jobs live again. Their history is locked and they hold their unique keys. Returns how many.
/// Others may hold for their end.
fn bring_back(spi: &Spi, ids: &[i64]) -> Result<usize> {
    spi.run(&FORGET_TIES, &[datum(ids)])?;
    let brought = spi.run(&FINISHED, &[datum(ids)])?.len();
    pending::note(catalog::job_table()?, |level| level.follow_ups.extend(ids));
    Ok(brought)
}

/// Parents come back with their discarded and cancelled children, and wait for them. Those that were never told of their children wait
/// to be told. Returns whether there are any.
fn bring_back_children(spi: &Spi, parents: &[i64]) -> Result<bool> {
    let rows = spi.run(&FAILED_CHILDREN, &[datum(parents)])?;
    let (mut waiting, mut children): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    for row in 0..rows.len() {
        waiting.push(rows.required(row, 1)?);
        children.extend(rows.value::<i64>(row, 2));
    }
    if waiting.is_empty() {
        return Ok(false);
    }
    waiting.dedup();
    spi.run(&REOPEN, &[datum(waiting)])?;
    if children.is_empty() {
        return Ok(true);
    }
    spi.run(&LOCK_FINISHED, &[datum(&*children)])?;
    let refused = take_back(spi, &children)?;
    children.retain(|id| !refused.contains(id));
    bring_back(spi, &children)?;
    bring_back_children(spi, &children)?;
    line_up_later(spi, &children)?;
    Ok(true)
}

/// Returns whether any waits for its batch to be opened.
fn line_up_later(spi: &Spi, ids: &[i64]) -> Result<bool> {
    Ok(spi.run(&LINE_UP_LATER, &[datum(ids)])?.len() > 0)
}

pub fn retry_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let mut filter = Filter::of(call, &USUAL, &OTHERS)?;
    let states = std::mem::take(&mut filter.states);
    let (finished, waiting): (Vec<State>, Vec<State>) =
        states.into_iter().partition(|state| state.is_finished());
    let retried = with_spi(|spi| {
        let mut retried = 0;
        if !waiting.is_empty() {
            filter.states = waiting;
            let ids = filter.lock(spi, &FIND_JOBS, 0)?;
            retried += make_available(spi, &ids)?;
        }
        if !finished.is_empty() {
            filter.states = finished;
            retried += retry_finished(spi, &mut filter, retried)?;
        }
        Ok(retried)
    })?;
    Ok(count(retried))
}

/// Those whose unique key another job holds take no place of others.
fn retry_finished(spi: &Spi, filter: &mut Filter, already: usize) -> Result<usize> {
    let mut retried = 0;
    loop {
        let mut ids = filter.lock(spi, &FIND_FINISHED, already + retried)?;
        let next = ids.last().and_then(|last| last.checked_add(1));
        let refused = take_back(spi, &ids)?;
        ids.retain(|id| !refused.contains(id));
        retried += bring_back(spi, &ids)?;
        bring_back_children(spi, &ids)?;
        line_up_later(spi, &ids)?;
        let Some(next) = next.filter(|_| !refused.is_empty()) else {
            return Ok(retried);
        };
        filter.begin_at(next);
    }
}
