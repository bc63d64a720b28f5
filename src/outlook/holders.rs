//! Which job is in the way.

use super::job::Waiting;
use crate::claims::next::first_in_lane;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, JobPlace, LaneSpec};

static SESSION_HOLDER: Statement =
    statement!("session_holder", [TEXTOID, TEXTOID, TEXTOID, INT8ARRAYOID]);
static RUNNING_WITH_KEY: Statement =
    statement!("running_with_key", [TEXTOID, TEXTOID, INT8ARRAYOID]);

/// Running jobs that are looked at: of the queue, and perhaps of others.
const RUNNING: usize = 1_000;
/// Lanes of a session that are looked at. They differ in priority, account or key.
const LANES: usize = 64;

/// The job that takes up a gate for one, if it is found: of a claim that has not committed nothing is seen.
pub fn of_gate(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &Waiting,
    kind: GateKind,
) -> Result<Option<i64>> {
    let tenant = || job.tenant.as_deref().and_then(datum);
    let name = || job.name(kind).and_then(datum);
    let running = |everywhere| running(spi, job_table, job, everywhere).map(datum);
    let rows = match kind {
        GateKind::Session => {
            let queue = datum(job.queue.as_str());
            spi.run(&SESSION_HOLDER, &[queue, tenant(), name(), running(false)?])?
        }
        GateKind::Unique => spi.run(&RUNNING_WITH_KEY, &[tenant(), name(), running(true)?])?,
        _ => return Ok(None),
    };
    Ok(rows.value(0, 1))
}

/// Some that run in the queue, and perhaps as many anywhere.
fn running(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting, everywhere: bool) -> Result<Vec<i64>> {
    when_ready(spi, job_table, |memory| {
        let scheduler = &memory.scheduler;
        let mut runs = scheduler.running_in(job.spec.queue, RUNNING)?;
        if everywhere {
            runs.extend(scheduler.running_anywhere(RUNNING)?);
        }
        Ok(runs.into_iter().map(|run| run.job).collect())
    })
}

/// The first job of the job's session, if another one is.
pub fn first_of_session(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Option<i64>> {
    let lanes = when_ready(spi, job_table, |memory| {
        memory.scheduler.lanes_of_session(job.spec.session, LANES)
    })?;
    let mut first: Option<(LaneSpec, i64, i64)> = None;
    for (spec, head) in lanes {
        let Some((id, position)) = first_in_lane(spi, &spec, head, i64::MAX)? else {
            continue;
        };
        let is_first = match &first {
            None => true,
            Some((other, at, _)) => comes_before(spi, job_table, (&spec, position), (other, *at))?,
        };
        if is_first {
            first = Some((spec, position, id));
        }
    }
    let Some((spec, position, id)) = first.filter(|&(_, _, id)| id != job.id) else {
        return Ok(None);
    };
    let own = (&job.spec, job.position);
    Ok(comes_before(spi, job_table, (&spec, position), own)?.then_some(id))
}

pub fn comes_before(
    spi: &Spi,
    job_table: pg_sys::Oid,
    one: (&LaneSpec, i64),
    other: (&LaneSpec, i64),
) -> Result<bool> {
    let place = |(spec, position)| JobPlace { spec, position };
    when_ready(spi, job_table, |memory| {
        memory.scheduler.comes_before(&place(one), &place(other))
    })
}
