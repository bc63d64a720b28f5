//! `running_jobs`.

use crate::api::arguments::{bound, name};
use crate::job::lane::queue_key;
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Result, on_standby};
use crate::pg::output::Output;
use crate::pg::spi::with_spi;
use crate::pg::{catalog, server};
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys::Datum;

arguments!(running_jobs: QUEUE, MAX_JOBS);

/// While they are listed, nothing else in the database goes on.
const MOST_JOBS: usize = 100_000;

pub fn running_jobs(call: &Call) -> Result<Option<Datum>> {
    let queue = name(call.text(running_jobs::QUEUE), "queue")?.map(queue_key);
    let most = bound(call, running_jobs::MAX_JOBS)?.min(MOST_JOBS);
    // A standby has no memory.
    if server::is_in_recovery() {
        return Err(on_standby());
    }
    let mut output = Output::of(call);
    let job_table = catalog::job_table()?;
    let runs = with_spi(|spi| {
        when_ready(spi, job_table, |memory| match queue {
            Some(queue) => memory.scheduler.running_in(queue, most),
            None => memory.scheduler.running_anywhere(most),
        })
    })?;
    for run in runs {
        output.push([datum(run.job), datum(run.attempt)].into_iter());
    }
    Ok(None)
}
