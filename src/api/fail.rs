use crate::api::finish::why_not_running;
use crate::api::names::run;
use crate::call::{Call, datum, must_be_writable, required};
use crate::error::{Result, bad_value};
use crate::plan::{Statement, statement, with_spi};
use pgrx::pg_sys::Datum;

static RETRY: Statement = statement!("fail_retry", [INT8OID, INT4OID, TEXTOID, INTERVALOID]);
static DISCARD: Statement = statement!("fail_discard", [INT8OID, INT4OID, TEXTOID]);

pub fn fail(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    let discard = required(call.boolean(4), "discard")?;
    if call.interval_micros(3).is_some_and(|micros| micros < 0) {
        return Err(bad_value("retry_in must not be negative")
            .detail("The time of the next attempt would be in the past.")
            .hint("Leave it out for the queue's backoff."));
    }
    let ends = [datum(job_id), datum(attempt), call.raw(2)];
    let state: String = with_spi(|spi| {
        if !discard {
            let [id, attempt, error] = ends;
            let rows = spi.run(&RETRY, &[id, attempt, error, call.raw(3)])?;
            if rows.len() > 0 {
                return rows.required(0, 1);
            }
        }
        let rows = spi.run(&DISCARD, &ends)?;
        if rows.len() > 0 {
            return rows.required(0, 1);
        }
        Err(why_not_running(spi, job_id, attempt)?)
    })?;
    Ok(datum(state))
}
