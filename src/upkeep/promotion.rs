//! Makes jobs of a queue available whose time has come. The claims from the queue do it.

use crate::job::queues;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::{self, LOCKED_AGAIN, Locked};
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;
use turnstile_scheduler::{LaneSpec, Step};

static PROMOTE: Statement = statement!(
    "promote_due",
    [INT8OID, TEXTOID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID]
);
static NEXT: Statement = statement!("next_due", [TEXTOID, TIMESTAMPTZOID, INT8OID]);

/// Jobs that one claim makes available at most: a claim must stay short when a million fall due at once.
pub const BATCH: i64 = 500;

/// The floor of the jobs of a queue that were put off, taken by the claim that is to promote them: no other claim
/// promotes for the queue meanwhile.
pub struct Due {
    pub queue: u64,
    floor: [i64; 2],
}

pub fn take(memory: &mut Locked, queue: u64) -> Step<Due> {
    let floor = memory.scheduler.take_due(queue)?;
    Ok(Due { queue, floor })
}

/// Makes due jobs available; returns how many. The scheduler hears of them at once, so that the claim that promoted them
/// can take them: a head is only a lower bound, and other claims find nothing there before the commit.
pub fn perform(spi: &Spi, job_table: pg_sys::Oid, due: &Due, batch: i64) -> Result<usize> {
    let Due { queue, floor } = *due;
    pending::begin(job_table, Work::Promotion(queue, Vec::new()));
    pending::note(job_table, |level| {
        level.due_taken.note(queue, Some(floor[0]))
    });
    let outcome = match queues::name(spi, queue)? {
        Some(name) => promote(spi, &name, floor, batch)?,
        None => Outcome::default(),
    };
    let jobs = match pending::end() {
        Some(Work::Promotion(_, jobs)) => jobs,
        _ => Vec::new(),
    };
    if outcome.promoted > 0 {
        pending::must_commit_before_sleep();
    }
    shmem::with(job_table, |memory| {
        announce(memory, &jobs)?;
        if let Some((next, at)) = outcome.next {
            memory.scheduler.put_back_due(queue, next, at)?;
        }
        memory.scheduler.end_promotion(queue)
    })?;
    Ok(outcome.promoted)
}

fn announce(memory: &mut Locked, jobs: &[(LaneSpec, i64)]) -> Step<()> {
    let mut jobs = jobs.iter();
    jobs.try_for_each(|(spec, position)| memory.lower(spec, *position))
}

#[derive(Default)]
struct Outcome {
    promoted: usize,
    /// What is left: the first job by time and position, and when to look at it.
    next: Option<([i64; 2], i64)>,
}

fn promote(spi: &Spi, name: &str, floor: [i64; 2], batch: i64) -> Result<Outcome> {
    let now = server::now();
    let [time, position] = floor.map(datum);
    let promoted = spi
        .run(
            &PROMOTE,
            &[datum(batch), datum(name), time, position, datum(now)],
        )?
        .len();
    let rows = spi.run(&NEXT, &[datum(name), time, position])?;
    let took_all = i64::try_from(promoted).is_ok_and(|promoted| promoted < batch);
    // All that is still due then is locked by another transaction.
    let earliest = match took_all {
        true => now.saturating_add(LOCKED_AGAIN),
        false => i64::MIN,
    };
    let next = rows.value::<i64>(0, 1).zip(rows.value::<i64>(0, 2));
    Ok(Outcome {
        promoted,
        next: next.map(|(time, position)| {
            let at = if time > now { time } else { time.max(earliest) };
            ([time, position], at)
        }),
    })
}
