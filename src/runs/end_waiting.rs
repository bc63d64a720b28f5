//! How jobs are ended from outside. A job whose children live ends after them.

use crate::job::state::{End, State};
use crate::pg::call::datum;
use crate::pg::error::{Result, cancelled_by_trigger};
use crate::pg::spi::{Spi, Statement, statement};
use crate::runs::ending::{Ending, end_locked};
use pgrx::pg_sys::Datum;

static LOCK: Statement = statement!("lock_to_end", [INT8ARRAYOID]);
static END_WAITING: Statement = statement!("end_waiting", [INT8ARRAYOID, TEXTOID, TEXTOID]);
static STOP_BATCH: Statement = statement!("stop_batch", [INT8OID, TEXTOID]);
static BLOCK_STOPPED: Statement = statement!("block_stopped", [INT8OID, TEXTOID, TEXTOID]);

/// What has become of a job that was to be ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ended,
    /// It runs, and was asked to stop if it is to be cancelled.
    Runs,
    /// It ends once its children have.
    Stops,
}

/// Ends the jobs that wait, for this reason. To cancel them, asks those that run to stop. Jobs that are not live are
/// passed over.
pub fn end_waiting(spi: &Spi, ids: &[i64], end: End, error: Option<Datum>) -> Result<Vec<Outcome>> {
    spi.run(&LOCK, &[datum(ids)])?;
    // Its snapshot is younger than the locks: who was waited for may have added children.
    let rows = spi.run(&END_WAITING, &[datum(ids), datum(end.name()), error])?;
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut endings = Vec::with_capacity(rows.len());
    let mut parents = Vec::new();
    for row in 0..rows.len() {
        let (id, was): (i64, &str) = (rows.required(row, 1)?, rows.required(row, 2)?);
        if rows.required(row, 4)? {
            return Err(cancelled_by_trigger("update"));
        }
        let (runs, has_children) = (was == State::Running.name(), rows.required(row, 5)?);
        if has_children && (!runs || end == End::Cancelled) {
            parents.push((id, rows.value::<String>(row, 3).filter(|_| !runs), runs));
        }
        outcomes.push(match (runs, has_children) {
            (true, _) => Outcome::Runs,
            (false, true) => Outcome::Stops,
            (false, false) => {
                endings.push(Ending {
                    errors: rows.value(row, 3),
                    is_cancelled_now: end == End::Cancelled,
                    ..Ending::of_waiting(id, end)
                });
                Outcome::Ended
            }
        });
    }
    end_locked(spi, endings)?;
    for (id, errors, runs) in parents {
        stop(spi, id, end, errors, runs)?;
    }
    Ok(outcomes)
}

/// No child starts any more; those that live are cancelled in passing. A parent that does not run waits for their end.
fn stop(spi: &Spi, id: i64, end: End, errors: Option<String>, runs: bool) -> Result<()> {
    spi.run(&STOP_BATCH, &[datum(id), datum(end.name())])?;
    if !runs
        && spi
            .run(
                &BLOCK_STOPPED,
                &[datum(id), datum(end.name()), datum(errors)],
            )?
            .len()
            == 0
    {
        return Err(cancelled_by_trigger("update"));
    }
    Ok(())
}
