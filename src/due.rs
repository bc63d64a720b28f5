//! Jobs whose time has come become available by the claims of a live queue.

use crate::call::datum;
use crate::error::Result;
use crate::pending;
use crate::plan::{Spi, Statement, statement};
use crate::shmem::{self, Locked};
use pgrx::pg_sys;

static PROMOTE: Statement = statement!("promote_due", [INT8OID, INT8ARRAYOID]);
static NEXT: Statement = statement!("next_due", []);

/// Jobs that one claim makes available at most: a claim must stay short when a million fall due at once.
const BATCH: i64 = 500;
/// Due jobs that are locked by somebody are looked for again after this many microseconds.
const LOCKED_AGAIN: i64 = 100_000;

/// The due time, taken by the claim that is to promote: nobody else is at it meanwhile.
pub struct Due(i64);

/// Asked by every claim: whether jobs have fallen due that nobody else is at.
pub fn duty(memory: &mut Locked) -> Option<Due> {
    // SAFETY: reads the clock.
    let now = unsafe { pg_sys::GetCurrentTimestamp() };
    let is_due = memory.desk.next_due <= now;
    is_due.then(|| Due(std::mem::replace(&mut memory.desk.next_due, i64::MAX)))
}

/// Makes due jobs available. The scheduler hears of them at once, so that the claim that promoted them
/// can take them: a head is only a lower bound, and who else looks there finds nothing before the commit.
///
/// What is promoted stays locked until the transaction ends. So a claim inside a transaction block, which
/// may stay open, promotes no more than it came for, and of its own queues only.
pub fn promote(
    spi: &Spi,
    job_table: pg_sys::Oid,
    due: &Due,
    queues: &[u64],
    most: usize,
) -> Result<()> {
    // SAFETY: reads the backend's transaction state.
    let may_stay_open = unsafe { pg_sys::IsTransactionBlock() };
    let (batch, queues) = if may_stay_open {
        let queues: Vec<i64> = queues.iter().map(|key| key.cast_signed()).collect();
        let most = i64::try_from(most).unwrap_or(BATCH);
        (most.min(BATCH), datum(queues))
    } else {
        (BATCH, None)
    };
    pending::with(|pending| {
        pending.job_table = job_table;
        pending.promoting = Some(Vec::new());
    });
    pending::at_current_level(|level| {
        level.due_taken = pending::least(level.due_taken, Some(due.0));
    });
    let promoted = spi.run(&PROMOTE, &[datum(batch), queues])?.len();
    let jobs = pending::with(|pending| pending.promoting.take()).unwrap_or_default();
    let next = spi.run(&NEXT, &[])?.value::<i64>(0, 1);
    // SAFETY: reads the clock.
    let now = unsafe { pg_sys::GetCurrentTimestamp() };
    let took_all = i64::try_from(promoted).is_ok_and(|promoted| promoted < batch);
    let rest_is_locked = took_all && !may_stay_open;
    let next = next.map(|time| {
        if rest_is_locked {
            time.max(now.saturating_add(LOCKED_AGAIN))
        } else {
            time
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
