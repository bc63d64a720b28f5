use crate::api::arguments::{check_wait, run};
use crate::pg::call::{Call, datum, must_be_writable, required};
use crate::pg::error::Result;
use crate::pg::spi::with_spi;
use crate::runs::finish::{Failing, fail_run};
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
