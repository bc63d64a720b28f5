//! Makes jobs available whose time has come. The claims of a live queue do it.

use crate::job::lane::gates_of_claim;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::{self, Locked};
use crate::sync::rebuild::when_ready;
use crate::transaction;
use crate::transaction::level::least;
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;

static PROMOTE: Statement = statement!(
    "promote_due",
    [INT8OID, INT8ARRAYOID, TIMESTAMPTZOID, INT8OID]
);
static NEXT: Statement = statement!("next_due", [TIMESTAMPTZOID, INT8OID]);

/// Jobs that one claim makes available at most: a claim must stay short when a million fall due at once.
const BATCH: i64 = 500;
/// Due jobs that another transaction has locked are looked for again after this many microseconds.
const LOCKED_AGAIN: i64 = 100_000;

/// The floor of the jobs that were put off, taken by the claim that is to promote them: no other claim promotes
/// meanwhile.
pub struct Due([i64; 2]);

/// Asked by every claim: whether jobs have fallen due that no other claim is promoting.
pub fn duty(memory: &mut Locked) -> Option<Due> {
    let now = server::now();
    let is_due = memory.state.next_due <= now;
    is_due.then(|| take(memory))
}

fn take(memory: &mut Locked) -> Due {
    memory.state.next_due = i64::MAX;
    Due(std::mem::replace(
        &mut memory.state.due_floor,
        [i64::MAX; 2],
    ))
}

/// Promoted jobs stay locked until the transaction ends. So a claim inside a transaction block, which may stay open,
/// promotes no more jobs than it came for, and only those of its own queues.
pub fn promote_for_claim(
    spi: &Spi,
    job_table: pg_sys::Oid,
    due: &Due,
    queues: &[u64],
    most: usize,
) -> Result<()> {
    let (batch, queues) = if transaction::may_stay_open() {
        let most = i64::try_from(most).unwrap_or(BATCH);
        (most.min(BATCH), gates_of_claim(queues).and_then(datum))
    } else {
        (BATCH, None)
    };
    promote(spi, job_table, due, batch, queues).map(|_| ())
}

/// Promotes up to `most` jobs without waiting for their turn.
pub fn on_demand(spi: &Spi, job_table: pg_sys::Oid, most: usize) -> Result<usize> {
    let mut promoted = 0;
    while promoted < most {
        let left = i64::try_from(most - promoted).unwrap_or(BATCH);
        let due = when_ready(spi, job_table, |memory| Ok(take(memory)))?;
        let now = promote(spi, job_table, &due, left.min(BATCH), None)?;
        if now == 0 {
            break;
        }
        promoted += now;
        pgrx::check_for_interrupts!();
    }
    Ok(promoted)
}

/// Makes due jobs available. The scheduler hears of them at once, so that the claim that promoted them can take them:
/// a head is only a lower bound, and other claims find nothing there before the commit.
fn promote(
    spi: &Spi,
    job_table: pg_sys::Oid,
    due: &Due,
    batch: i64,
    queues: Option<pg_sys::Datum>,
) -> Result<usize> {
    let [from_time, from_position] = due.0;
    let from = [datum(from_time), datum(from_position)];
    pending::with(|pending| pending.job_table = job_table);
    pending::begin(Work::Promotion(Vec::new()));
    pending::at_current_level(|level| {
        level.due_taken = least(level.due_taken, Some(from_time));
    });
    let promoted = spi
        .run(&PROMOTE, &[datum(batch), queues, from[0], from[1]])?
        .len();
    let jobs = match pending::end() {
        Some(Work::Promotion(jobs)) => jobs,
        _ => Vec::new(),
    };
    let next = spi.run(&NEXT, &from)?;
    let next = next.value(0, 1).zip(next.value(0, 2));
    let took_all = i64::try_from(promoted).is_ok_and(|promoted| promoted < batch);
    // All that is still due then is locked by another transaction.
    let earliest = match took_all && queues.is_none() {
        true => server::now().saturating_add(LOCKED_AGAIN),
        false => i64::MIN,
    };
    shmem::with(job_table, |memory| {
        for (spec, position) in &jobs {
            memory.lower(spec, *position)?;
        }
        if let Some((time, position)) = next {
            let desk = &mut memory.state;
            desk.due_floor = desk.due_floor.min([time, position]);
            desk.next_due = desk.next_due.min(time.max(earliest));
        }
        Ok(())
    })?;
    Ok(promoted)
}
