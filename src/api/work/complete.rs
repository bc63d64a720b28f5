//! `complete`, `complete_many`, and both together with a claim.

use crate::api::arguments::{bound, check_size, queue_keys, queue_to_claim, run};
use crate::api::work::claimer::claimer;
use crate::claims::or_wait::claim_or_wait;
use crate::job::lane::queue_key;
use crate::permission::{self, Verb};
use crate::pg::call::{Call, arguments, count, datum, must_be_writable, required};
use crate::pg::error::{Result, bad_value, notice, null_element};
use crate::pg::output::Output;
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::runs::claimer::Claimer;
use crate::runs::ending::{Ending, end_jobs};
use crate::runs::finish::of_run;
use pgrx::pg_sys::Datum;

arguments!(complete: JOB_ID, ATTEMPT, RESULT);
arguments!(complete_many: JOB_IDS, ATTEMPTS);
arguments!(complete_and_claim: JOB_IDS, ATTEMPTS, QUEUES, MAX_JOBS, WORKER, LEASE, BIND_TO_CONNECTION, WAIT);
arguments!(complete_and_claim_next: JOB_ID, ATTEMPT, RESULT, QUEUE, WORKER, LEASE, BIND_TO_CONNECTION, WAIT);

static WAS_COMPLETED: Statement = statement!("was_completed", [INT8OID, INT4OID]);

/// The id of a job and the attempt.
type RunKey = (i64, i32);

/// A run that is completed, now or before.
struct Completed {
    queue: u64,
    now: bool,
}

pub fn complete(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    check_size(call, complete::RESULT, "result")?;
    let completed = with_spi(|spi| complete_run(spi, job_id, attempt, call.raw(complete::RESULT)))?;
    Ok(datum(completed.now))
}

fn complete_run(spi: &Spi, job_id: i64, attempt: i32, result: Option<Datum>) -> Result<Completed> {
    let caller = permission::restricted(Verb::Work)?;
    of_run(spi, job_id, attempt, || {
        let ending = Ending::of_worker((job_id, attempt), "completed", caller.as_ref());
        if let Some(finished) = end_jobs(spi, &[ending], result)?.pop() {
            notice_too_late(usize::from(finished.was_to_be_cancelled));
            let queue = finished.queue;
            return Ok(Some(Completed { queue, now: true }));
        }
        permission::job(spi, Verb::Work, job_id)?;
        let before = spi.run(&WAS_COMPLETED, &[datum(job_id), datum(attempt)])?;
        let queue = before.value::<&str>(0, 1).map(queue_key);
        Ok(queue.map(|queue| Completed { queue, now: false }))
    })
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
    let runs = runs(call)?;
    Ok(count(with_spi(|spi| complete_runs(spi, &runs))?))
}

/// The runs that the first two arguments name, each once.
fn runs(call: &Call) -> Result<Vec<RunKey>> {
    use complete_many::{ATTEMPTS, JOB_IDS};
    let job_ids = required(call.int8s(JOB_IDS, "job_ids")?, "job_ids")?;
    let attempts = required(call.int4s(ATTEMPTS, "attempts")?, "attempts")?;
    if job_ids.iter().any(Option::is_none) {
        return Err(null_element("job_ids"));
    }
    if attempts.iter().any(Option::is_none) {
        return Err(null_element("attempts"));
    }
    if job_ids.len() != attempts.len() {
        return Err(bad_value("job_ids and attempts must be of the same length")
            .detail(format!(
                "They have {} and {} elements.",
                job_ids.len(),
                attempts.len()
            ))
            .hint("Pass the id and the attempt of each run at the same place."));
    }
    let mut runs: Vec<_> = job_ids
        .into_iter()
        .flatten()
        .zip(attempts.into_iter().flatten())
        .collect();
    runs.sort_unstable();
    runs.dedup();
    Ok(runs)
}

/// Returns how many took effect.
fn complete_runs(spi: &Spi, runs: &[RunKey]) -> Result<usize> {
    let caller = permission::restricted(Verb::Work)?;
    let endings: Vec<_> = runs
        .iter()
        .map(|&run| Ending::of_worker(run, "completed", caller.as_ref()))
        .collect();
    let finished = end_jobs(spi, &endings, None)?;
    let too_late = finished.iter().filter(|run| run.was_to_be_cancelled);
    notice_too_late(too_late.count());
    Ok(finished.len())
}

/// A claim returns jobs, so a notice says what `complete_many` returns.
pub fn complete_and_claim(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let runs = runs(call)?;
    let queues = queue_keys(call, complete_and_claim::QUEUES)?;
    let most = bound(call, complete_and_claim::MAX_JOBS)?;
    let claimer = claimer(call, complete_and_claim::WORKER, &queues)?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let completed = complete_runs(spi, &runs)?;
        if completed < runs.len() {
            notice(format!(
                "{} of {} runs were not completed: they were superseded, had ended before, or are not the caller's to end",
                runs.len() - completed,
                runs.len()
            ));
        }
        claim_or_wait(spi, most, &claimer, &mut output)
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
    let claimer = claimer(call, complete_and_claim_next::WORKER, &[])?;
    let mut output = Output::of(call);
    with_spi(|spi| {
        let completed = complete_run(
            spi,
            job_id,
            attempt,
            call.raw(complete_and_claim_next::RESULT),
        )?;
        let claimer = Claimer {
            queues: &[queue.unwrap_or(completed.queue)],
            ..claimer
        };
        claim_or_wait(spi, 1, &claimer, &mut output)
    })?;
    Ok(None)
}
