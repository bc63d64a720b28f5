//! `await_children`: a run steps aside until its children have ended.

use crate::api::arguments::run;
use crate::permission::{self, Verb};
use crate::pg::call::{Call, datum, must_be_writable};
use crate::pg::error::Result;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::runs::finish::why_not_running;
use pgrx::pg_sys::Datum;

static AWAIT: Statement = statement!("await_children", [INT8OID, INT4OID]);

pub fn await_children(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let (job_id, attempt) = run(call)?;
    with_spi(|spi| {
        permission::job(spi, Verb::Work, job_id)?;
        let arguments = [datum(job_id), datum(attempt)];
        if spi.run(&AWAIT, &arguments)?.len() > 0 {
            return Ok(datum(true));
        }
        match why_not_running(spi, job_id, attempt)? {
            None => Ok(datum(false)),
            Some(why) => Err(why),
        }
    })
}
