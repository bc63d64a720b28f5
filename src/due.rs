//! Jobs whose time has come become available by the claims of a live queue.

use crate::call::datum;
use crate::error::Result;
use crate::pending;
use crate::plan::{Spi, Statement, statement};
use crate::rebuild::when_ready;
use crate::shmem;
use pgrx::pg_sys;

static PROMOTE: Statement = statement!("promote_due", [INT8OID]);
static NEXT: Statement = statement!("next_due", []);

/// Jobs that one claim makes available at most: a claim must stay short when a million fall due at once.
const BATCH: i64 = 500;
/// Due jobs that are locked by somebody are looked for again after this many microseconds.
const LOCKED_AGAIN: i64 = 100_000;

/// Makes due jobs available, if there are any that nobody else is at. The scheduler hears of them at
/// once, so that the claim that promoted them can take them: a head is only a lower bound, and who else
/// looks there finds nothing before the commit.
pub fn promote(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    // SAFETY: reads the clock.
    let now = unsafe { pg_sys::GetCurrentTimestamp() };
    let taken = when_ready(spi, job_table, |memory| {
        let is_due = memory.desk.next_due <= now;
        Ok(is_due.then(|| std::mem::replace(&mut memory.desk.next_due, i64::MAX)))
    })?;
    let Some(taken) = taken else {
        return Ok(());
    };
    pending::with(|pending| {
        pending.job_table = job_table;
        pending.promoting = Some(Vec::new());
    });
    pending::at_current_level(|level| {
        level.due_taken = pending::least(level.due_taken, Some(taken));
    });
    let promoted = spi.run(&PROMOTE, &[datum(BATCH)])?.len();
    let jobs = pending::with(|pending| pending.promoting.take()).unwrap_or_default();
    let next = spi.run(&NEXT, &[])?.value::<i64>(0, 1);
    let is_full = i64::try_from(promoted).is_ok_and(|promoted| promoted >= BATCH);
    let next = next.map(|time| {
        if is_full {
            time
        } else {
            time.max(now.saturating_add(LOCKED_AGAIN))
        }
    });
    shmem::with(job_table, |memory| {
        for (spec, position) in &jobs {
            memory.scheduler.lower(spec, *position)?;
        }
        memory.note_due(next);
        Ok(())
    })
}
