//! Signs of life of a run: `heartbeat` and `progress`. Both tell whether it may go on.

use crate::api::arguments::{check_lease, run};
use crate::permission::{self, Verb};
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Statement, statement, with_spi};
use crate::runs::finish::of_run;
use pgrx::pg_sys::Datum;

arguments!(heartbeat: JOB_ID, ATTEMPT, LEASE, UNBIND);
arguments!(progress: JOB_ID, ATTEMPT, DONE, TOTAL, MESSAGE);

static HEARTBEAT: Statement = statement!("heartbeat", [INT8OID, INT4OID, INTERVALOID, BOOLOID]);
static PROGRESS: Statement = statement!(
    "progress",
    [INT8OID, INT4OID, NUMERICOID, NUMERICOID, TEXTOID]
);

pub fn heartbeat(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    run(call)?;
    check_lease(call, heartbeat::LEASE)?;
    let unbind = required(call.boolean(heartbeat::UNBIND), "unbind")?;
    let unbind = unbind && !armed(Seeded::KeepBound);
    tell(
        call,
        &HEARTBEAT,
        &[call.raw(heartbeat::LEASE), datum(unbind)],
    )
}

pub fn progress(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    run(call)?;
    required(call.raw(progress::DONE), "done")?;
    tell(
        call,
        &PROGRESS,
        &[
            call.raw(progress::DONE),
            call.raw(progress::TOTAL),
            call.raw(progress::MESSAGE),
        ],
    )
}

fn tell(call: &Call, what: &Statement, more: &[Option<Datum>]) -> Result<Option<Datum>> {
    let (job_id, attempt) = run(call)?;
    with_spi(|spi| {
        permission::job(spi, Verb::Work, job_id)?;
        let arguments = [&[datum(job_id), datum(attempt)], more].concat();
        let may_go_on = of_run(spi, job_id, attempt, || {
            Ok(spi.run(what, &arguments)?.value::<bool>(0, 1))
        })?;
        Ok(datum(may_go_on))
    })
}
