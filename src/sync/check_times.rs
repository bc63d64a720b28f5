//! The times that memory watches in each queue, compared with the tables: no job that was put off and no lease is forgotten.

use crate::job::lane::queue_key;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::snapshot::{Snapshot, next_transaction_id};
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::Locked;
use crate::sync::check::Difference;
use pgrx::pg_sys::Datum;
use std::collections::HashMap;
use turnstile_scheduler::DueView;
use turnstile_scheduler::waiting::NEVER;

static DUE: Statement = statement!("check_due", [INT8OID]);
static LEASES: Statement = statement!("check_leases", [INT8ARRAYOID, INT8OID]);

const BATCH: i64 = 10_000;

/// What memory watches.
#[derive(Default)]
pub struct Times {
    queues: HashMap<u64, DueView>,
    /// There is no slot for some queues.
    has_others: bool,
    /// Runs whose lease has ended, which are watched one by one.
    stragglers: Vec<i64>,
}

impl Times {
    pub fn of(memory: &Locked) -> Self {
        let queues = memory.scheduler.due_queues();
        Self {
            queues: queues.map(|known| (known.queue, known)).collect(),
            has_others: memory.scheduler.others_due() < NEVER,
            stragglers: memory.stragglers().map(|run| run.job).collect(),
        }
    }

    pub fn compare(
        &self,
        spi: &Spi,
        snapshot: &Snapshot,
        differences: &mut Vec<Difference>,
    ) -> Result<()> {
        let next = datum(next_transaction_id().cast_signed());
        let due = Watch {
            first: &DUE,
            arguments: &[next],
            floor: |known| known.due_floor.map(|[time, _]| time),
            problem: "the time of a job is not watched",
        };
        let leases = Watch {
            first: &LEASES,
            arguments: &[datum(self.stragglers.clone()), next],
            floor: |known| known.lease_floor,
            problem: "the lease of a run is not watched",
        };
        self.compare_floors(spi, snapshot, &due, differences)?;
        self.compare_floors(spi, snapshot, &leases, differences)
    }

    /// Compares the first time of each queue with the floor that memory knows.
    fn compare_floors(
        &self,
        spi: &Spi,
        snapshot: &Snapshot,
        watch: &Watch,
        differences: &mut Vec<Difference>,
    ) -> Result<()> {
        spi.scan(watch.first, watch.arguments, snapshot, BATCH, |rows| {
            for row in 0..rows.len() {
                let (queue, time): (&str, i64) = (rows.required(row, 1)?, rows.required(row, 2)?);
                let id: i64 = rows.required(row, 3)?;
                let is_watched = match self.queues.get(&queue_key(queue)) {
                    Some(known) => (watch.floor)(known).is_none_or(|floor| floor <= time),
                    None => self.has_others || time == NEVER,
                };
                if !is_watched {
                    differences.push(Difference {
                        problem: watch.problem,
                        detail: format!("job {id} of queue {queue}"),
                    });
                }
            }
            Ok(())
        })
    }
}

/// One kind of time.
struct Watch<'a> {
    first: &'a Statement,
    arguments: &'a [Option<Datum>],
    floor: fn(&DueView) -> Option<i64>,
    problem: &'static str,
}
