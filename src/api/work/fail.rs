//! `fail` ends a run that did not succeed.

use crate::api::arguments::{check_wait, run};
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::Result;
use crate::pg::spi::with_spi;
use crate::runs::finish::{Failing, fail_run};
use pgrx::pg_sys::Datum;

arguments!(fail: JOB_ID, ATTEMPT, ERROR, RETRY_IN, DISCARD);

pub fn fail(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    check_wait(call, fail::RETRY_IN, "retry_in")?;
    let failing = Failing {
        error: call.raw(fail::ERROR),
        retry_in: call.raw(fail::RETRY_IN),
        discard: required(call.boolean(fail::DISCARD), "discard")?,
        is_rescue: false,
    };
    let state = with_spi(|spi| fail_run(spi, job_id, attempt, &failing))?;
    Ok(datum(state))
}
