use crate::api::finish::{End, finish, why_not_running};
use crate::api::names::run;
use crate::call::{Call, datum, must_be_writable, required};
use crate::error::{Result, bad_value};
use crate::plan::{Statement, statement, with_spi};
use pgrx::pg_sys::Datum;

static RETRY: Statement = statement!("fail_retry", [INT8OID, INT4OID, TEXTOID, INTERVALOID]);

pub fn fail(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    let discard = required(call.boolean(4), "discard")?;
    if call.interval_micros(3).is_some_and(|micros| micros < 0) {
        return Err(bad_value("retry_in must not be negative")
            .detail("The time of the next attempt would be in the past.")
            .hint("Leave it out for the queue's backoff."));
    }
    let error = call.raw(2);
    let state = with_spi(|spi| {
        let retry = [datum(job_id), datum(attempt), error, call.raw(3)];
        if !discard && spi.run(&RETRY, &retry)?.len() > 0 {
            return Ok("retryable");
        }
        if finish(spi, job_id, attempt, End::Discarded { error })?.len() > 0 {
            return Ok("discarded");
        }
        Err(why_not_running(spi, job_id, attempt)?)
    })?;
    Ok(datum(state))
}
