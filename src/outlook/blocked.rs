//! Jobs that wait for others: for their children, for those that they come after, or for the turn of their parent.

use super::blocker::{Blocker, HOLDER, Reason};
use super::job::Waiting;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use turnstile_scheduler::{GateKind, LaneSpec};

static BLOCKED_BY: Statement = statement!("blocked_by", [INT8OID]);
static BATCH_CLOSED: Statement = statement!("batch_closed", [INT8OID]);

/// What a blocked job waits for. Where that is nothing, the next claim sees to it.
pub fn blockers(spi: &Spi, job: &Waiting) -> Result<Vec<Blocker>> {
    let rows = spi.run(&BLOCKED_BY, &[datum(job.id)])?;
    let found: Vec<Blocker> = (children(&rows)?.into_iter())
        .chain(predecessors(&rows)?)
        .collect();
    // The state of its batch's gate says that, too.
    if found.is_empty() && closed(spi, &job.spec)?.is_some() {
        return Ok(found);
    }
    Ok(match found.is_empty() {
        false => found,
        true => {
            let detail =
                "The jobs that it waited for have ended, and the next claim makes it available.";
            vec![Blocker::new(Reason::Blocked, detail)]
        }
    })
}

fn children(rows: &Rows) -> Result<Option<Blocker>> {
    let count: i64 = rows.required(0, 1)?;
    let detail = match count {
        0 => return Ok(None),
        1 => format!("It waits for a child, {HOLDER}."),
        10_001.. => format!("It waits for more than 10,000 children, such as {HOLDER}."),
        count => format!("It waits for {count} children, such as {HOLDER}."),
    };
    let blocker = Blocker::new(Reason::Blocked, detail);
    Ok(Some(blocker.because_of(rows.value(0, 2))))
}

fn predecessors(rows: &Rows) -> Result<Option<Blocker>> {
    let Some(first) = rows.value::<i64>(0, 3) else {
        return Ok(None);
    };
    let (state, count): (&str, i64) = (rows.required(0, 4)?, rows.required(0, 5)?);
    let detail = match count {
        1 => format!("It comes after {HOLDER}, which is {state}."),
        count => format!("It comes after {count} jobs. The first, {HOLDER}, is {state}."),
    };
    let blocker = Blocker::new(Reason::Blocked, detail);
    Ok(Some(blocker.because_of(Some(first))))
}

/// Why nothing of the lane's batch starts, unless its slots say so.
pub fn closed(spi: &Spi, spec: &LaneSpec) -> Result<Option<Blocker>> {
    let parent = spec.key_of(GateKind::Batch).cast_signed();
    let rows = spi.run(&BATCH_CLOSED, &[datum(parent)])?;
    Ok(rows.value::<&str>(0, 1).map(|why| match why {
        "closed" => Blocker::new(
            Reason::Blocked,
            format!("Its batch begins when the turn of {HOLDER} has come."),
        )
        .because_of(Some(parent)),
        "stopped" => Blocker::new(
            Reason::Blocked,
            "Its batch was stopped, and it is about to be cancelled.",
        )
        .because_of(Some(parent)),
        _ => Blocker::new(Reason::Paused, format!("Batch {parent} is paused.")),
    }))
}
