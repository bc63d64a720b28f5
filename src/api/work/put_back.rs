//! Runs that end without having counted: `release` and `snooze`.

use crate::api::arguments::{check_wait, run};
use crate::job::state::End;
use crate::permission::{self, Verb};
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::Result;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::runs::ending::{Ending, end_jobs};
use crate::runs::finish::{is_to_be_cancelled, of_run};
use pgrx::pg_sys::Datum;

arguments!(snooze: JOB_ID, ATTEMPT, DELAY);

static RELEASE: Statement = statement!("release", [INT8OID, INT4OID]);
static SNOOZE: Statement = statement!("snooze", [INT8OID, INT4OID, INTERVALOID]);

pub fn release(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    put_back(call, &RELEASE, &[])
}

pub fn snooze(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    run(call)?;
    required(call.raw(snooze::DELAY), "delay")?;
    check_wait(call, snooze::DELAY, "delay")?;
    put_back(call, &SNOOZE, &[call.raw(snooze::DELAY)])
}

/// A run whose cancellation was asked for does not wait again: it is cancelled.
fn put_back(call: &Call, how: &Statement, more: &[Option<Datum>]) -> Result<Option<Datum>> {
    let (job_id, attempt) = run(call)?;
    with_spi(|spi| {
        permission::job(spi, Verb::Work, job_id)?;
        let arguments = [&[datum(job_id), datum(attempt)], more].concat();
        of_run(spi, job_id, attempt, || {
            if spi.run(how, &arguments)?.len() > 0 {
                return Ok(Some(()));
            }
            let ending = Ending::of_run((job_id, attempt), End::Cancelled);
            let is_cancelled =
                is_to_be_cancelled(spi, job_id, attempt)? && !end_jobs(spi, &[ending])?.is_empty();
            Ok(is_cancelled.then_some(()))
        })?;
        Ok(datum(true))
    })
}
