//! `complete`, `complete_many`, and both together with a claim.

use crate::api::arguments::{bound, check_size, must_fit, queue_keys, queue_to_claim, run};
use crate::api::work::claimer::follower;
use crate::api::work::many::{RunKey, must_match, runs};
use crate::claims::or_wait::claim_or_wait;
use crate::job::lane::queue_key;
use crate::job::state::End;
use crate::permission::{self, Restricted, Verb};
use crate::pg::call::{Call, Jsonb, arguments, count, datum, must_be_writable};
use crate::pg::error::{Result, notice};
use crate::pg::output::Output;
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::runs::claimer::Claimer;
use crate::runs::ending::{Ending, Finished, end_jobs};
use crate::runs::finish::of_run;
use crate::runs::kept::Kept;
use pgrx::pg_sys::Datum;

arguments!(complete: JOB_ID, ATTEMPT, RESULT);
arguments!(complete_many: JOB_IDS, ATTEMPTS, RESULTS);
arguments!(complete_and_claim: JOB_IDS, ATTEMPTS, QUEUES, MAX_JOBS, WORKER, LEASE, BIND_TO_CONNECTION, WAIT, RESULTS);
arguments!(complete_and_claim_next: JOB_ID, ATTEMPT, RESULT, QUEUE, WORKER, LEASE, BIND_TO_CONNECTION, WAIT);

static WAS_COMPLETED: Statement = statement!("was_completed", [INT8OID, INT4OID]);

/// A run that is to be completed, and its result.
type Done = (RunKey, Option<Datum>);

/// A run that is completed, now or before.
struct Completed {
    queue: u64,
    now: bool,
    kept: Kept,
}

pub fn complete(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    check_size(call, complete::RESULT, "result")?;
    let done = ((job_id, attempt), call.raw(complete::RESULT));
    let completed = with_spi(|spi| complete_run(spi, &done, false))?;
    Ok(datum(completed.now))
}

fn complete_run(spi: &Spi, done: &Done, is_followed: bool) -> Result<Completed> {
    let &((job_id, attempt), _) = done;
    let caller = permission::restricted(Verb::Work)?;
    of_run(spi, job_id, attempt, || {
        let ending = ending(done, caller.as_ref(), is_followed);
        if let Some(finished) = end_jobs(spi, &[ending])?.pop() {
            notice_too_late(usize::from(finished.was_to_be_cancelled));
            return Ok(Some(Completed {
                queue: finished.queue,
                now: true,
                kept: finished.kept.unwrap_or_default(),
            }));
        }
        let before = spi.run(&WAS_COMPLETED, &[datum(job_id), datum(attempt)])?;
        // The run counts, not the job: it may have been brought back, and moved to a queue of the caller.
        let is_own = |queue: &&str| {
            caller
                .as_ref()
                .is_none_or(|caller| caller.allows(queue, None))
        };
        let Some(queue) = before.value::<&str>(0, 1).filter(is_own) else {
            permission::job(spi, Verb::Work, job_id)?;
            return Ok(None);
        };
        Ok(Some(Completed {
            queue: queue_key(queue),
            now: false,
            kept: Kept::of_rows(&before, 0, 2),
        }))
    })
}

fn ending<'a>(
    &(run, result): &Done,
    caller: Option<&'a Restricted>,
    is_followed: bool,
) -> Ending<'a> {
    Ending {
        result,
        is_followed,
        ..Ending::of_worker(run, End::Completed, caller)
    }
}

/// Sends a notice if some of the completed runs were to be cancelled.
fn notice_too_late(count: usize) {
    if count > 0 {
        notice(format!(
            "the cancellation of {count} completed job(s) had been asked for"
        ));
    }
}

pub fn complete_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let done = done(call, complete_many::RESULTS)?;
    let completed = with_spi(|spi| complete_runs(spi, &done, false))?;
    Ok(count(completed.len()))
}

/// The runs that a call names, each once, in order.
fn done(call: &Call, results: usize) -> Result<Vec<Done>> {
    let runs = runs(call)?;
    let results = call.jsonbs(results, "results")?;
    must_match(&runs, results.as_ref().map(Vec::len), "results")?;
    for result in results.iter().flatten().flatten() {
        must_fit(*result, "results")?;
    }
    let results = results.into_iter().flatten();
    let results = results.map(|result| result.map(Jsonb::datum));
    let mut done: Vec<Done> = runs
        .into_iter()
        .zip(results.chain(std::iter::repeat(None)))
        .collect();
    done.sort_by_key(|&(run, _)| run);
    done.dedup_by_key(|&mut (run, _)| run);
    Ok(done)
}

/// Returns those that took effect, in order of their ids.
fn complete_runs(spi: &Spi, done: &[Done], is_followed: bool) -> Result<Vec<Finished>> {
    let caller = permission::restricted(Verb::Work)?;
    let endings: Vec<_> = done
        .iter()
        .map(|each| ending(each, caller.as_ref(), is_followed))
        .collect();
    let finished = end_jobs(spi, &endings)?;
    let too_late = finished.iter().filter(|run| run.was_to_be_cancelled);
    notice_too_late(too_late.count());
    Ok(finished)
}

/// A claim returns jobs, so a notice says what `complete_many` returns.
pub fn complete_and_claim(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let done = done(call, complete_and_claim::RESULTS)?;
    let queues = queue_keys(call, complete_and_claim::QUEUES)?;
    let most = bound(call, complete_and_claim::MAX_JOBS)?;
    let (claimer, keeps) = follower(call, complete_and_claim::WORKER, &queues)?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let completed = complete_runs(spi, &done, keeps.any())?;
        if completed.len() < done.len() {
            notice(format!(
                "{} of {} runs were not completed: they were superseded, had ended before, or are not the caller's to end",
                done.len() - completed.len(),
                done.len()
            ));
        }
        let first = completed.into_iter().next();
        let kept = first.and_then(|run| run.kept).unwrap_or_default();
        claim_or_wait(spi, most, &kept.go_on(keeps, claimer)?, &mut output)
    })?;
    Ok(None)
}

/// The queue to claim from, if one is named.
fn claimed_queue(named: Option<&str>) -> Result<Option<u64>> {
    named.map(|name| queue_to_claim(Some(name))).transpose()
}

pub fn complete_and_claim_next(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    check_size(call, complete_and_claim_next::RESULT, "result")?;
    let queue = claimed_queue(call.text(complete_and_claim_next::QUEUE))?;
    let (claimer, keeps) = follower(call, complete_and_claim_next::WORKER, &[])?;
    let done = ((job_id, attempt), call.raw(complete_and_claim_next::RESULT));
    let mut output = Output::of(call);
    with_spi(|spi| {
        let completed = complete_run(spi, &done, keeps.any())?;
        let claimer = Claimer {
            queues: &[queue.unwrap_or(completed.queue)],
            ..completed.kept.go_on(keeps, claimer)?
        };
        claim_or_wait(spi, 1, &claimer, &mut output)
    })?;
    Ok(None)
}
