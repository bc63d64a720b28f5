use crate::api::finish::{Failing, fail_run};
use crate::api::names::{check_wait, run};
use crate::call::{Call, datum, must_be_writable, required};
use crate::error::Result;
use crate::plan::with_spi;
use pgrx::pg_sys::Datum;

pub fn fail(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    check_wait(call, 3, "retry_in")?;
    let failing = Failing {
        error: call.raw(2),
        retry_in: call.raw(3),
        discard: required(call.boolean(4), "discard")?,
    };
    let state = with_spi(|spi| fail_run(spi, job_id, attempt, &failing))?;
    Ok(datum(state))
}
