use crate::api::finish::why_not_running;
use crate::api::names::run;
use crate::call::{Call, datum, must_be_writable};
use crate::error::Result;
use crate::plan::{Statement, statement, with_spi};
use pgrx::pg_sys::Datum;

static RELEASE: Statement = statement!("release", [INT8OID, INT4OID]);

pub fn release(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    with_spi(|spi| {
        let rows = spi.run(&RELEASE, &[datum(job_id), datum(attempt)])?;
        if rows.len() > 0 {
            return Ok(());
        }
        Err(why_not_running(spi, job_id, attempt)?)
    })?;
    Ok(datum(true))
}
