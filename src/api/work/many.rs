//! The arguments of calls about many runs, and what such calls need beside those about one.

use crate::api::arguments::job_ids;
use crate::permission::{self, Verb};
use crate::pg::call::{Call, required};
use crate::pg::error::{Result, bad_value, null_element};
use crate::pg::spi::Spi;

/// The id of a job and the attempt.
pub type RunKey = (i64, i32);

/// The places of these arguments in each call about many runs.
const JOB_IDS: usize = 0;
const ATTEMPTS: usize = 1;

/// The runs that the first two arguments name, as they come.
pub fn runs(call: &Call) -> Result<Vec<RunKey>> {
    let job_ids = job_ids(call, JOB_IDS)?;
    let attempts = required(call.int4s(ATTEMPTS, "attempts")?, "attempts")?;
    if attempts.iter().any(Option::is_none) {
        return Err(null_element("attempts"));
    }
    must_match(&job_ids, Some(attempts.len()), "attempts")?;
    Ok(job_ids
        .into_iter()
        .zip(attempts.into_iter().flatten())
        .collect())
}

/// The same with no id where the caller may not work on the queue of the job, so that each stays at its place.
pub fn permitted(spi: &Spi, runs: &[RunKey]) -> Result<Vec<(Option<i64>, i32)>> {
    let caller = permission::restricted(Verb::Work)?;
    let may = |job_id| match &caller {
        Some(_) => permission::may_work(spi, job_id),
        None => Ok(true),
    };
    runs.iter()
        .map(|&(job_id, attempt)| Ok((may(job_id)?.then_some(job_id), attempt)))
        .collect()
}

/// Fails unless another array is NULL or has as many elements.
pub fn must_match<T>(runs: &[T], length: Option<usize>, name: &str) -> Result<()> {
    match length {
        Some(length) if length != runs.len() => Err(bad_value(format!(
            "job_ids and {name} must be of the same length"
        ))
        .detail(format!("They have {} and {length} elements.", runs.len()))
        .hint("Pass what belongs to a run at the same place.")),
        _ => Ok(()),
    }
}
