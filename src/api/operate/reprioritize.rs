//! `reprioritize` has a job run sooner or later than others.

use crate::api::arguments::job;
use crate::permission;
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, cancelled_by_trigger, no_such_job};
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::runs::finish::{state_of, wrong_state};
use pgrx::pg_sys::Datum;

arguments!(reprioritize: JOB_ID, PRIORITY);

static REPRIORITIZE: Statement = statement!("reprioritize", [INT8OID, INT4OID]);

pub fn reprioritize(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let job_id = job(call)?;
    let priority = required(call.int4(reprioritize::PRIORITY), "priority")?;
    with_spi(|spi| permission::manage(spi, job_id, || reprioritize_job(spi, job_id, priority)))
}

fn reprioritize_job(spi: &Spi, job_id: i64, priority: i32) -> Result<Option<Datum>> {
    let changed = spi.run(&REPRIORITIZE, &[datum(job_id), datum(priority)])?;
    match changed.value(0, 1) {
        Some(true) => return Ok(datum(true)),
        Some(false) => return Err(cancelled_by_trigger("update")),
        None => {}
    }
    match state_of(spi, job_id)? {
        None => Err(no_such_job(job_id)),
        Some(state) if state.is_finished() => {
            let hint = "A finished job waits for nothing.";
            Err(wrong_state(job_id, state, hint))
        }
        Some(_) => Ok(datum(false)),
    }
}
