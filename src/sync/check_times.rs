//! The times that memory watches, compared with the tables: no job that was put off and no lease is forgotten.

use crate::job::lane::queue_key;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::snapshot::{Snapshot, next_transaction_id};
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem::SEARCHED_AGAIN;
use crate::sync::difference::Difference;
use std::collections::HashMap;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{DueView, LeaseView, RunId, Scheduler, Step};

static DUE: Statement = statement!("check_due", [INT8OID]).that_reads_all();
static LEASES: Statement = statement!("check_leases", [INT8OID]).that_reads_all();

const BATCH: i64 = 10_000;

/// What memory watches.
#[derive(Default)]
pub struct Times {
    queues: HashMap<u64, DueView>,
    /// There is no slot for some queues.
    has_others: bool,
    /// Runs, with their queues and when they are due.
    leases: HashMap<RunId, (u64, i64)>,
    /// There is no room for the leases of some.
    has_leases_outside: bool,
    /// A run that a search looks at, or that was locked, may be due so late.
    searched_again: i64,
}

impl Times {
    pub fn of(scheduler: &Scheduler) -> Step<Self> {
        let queues = scheduler.due_queues();
        let mut times = Self {
            queues: queues.map(|known| (known.queue, known)).collect(),
            has_others: scheduler.others_due() < NEVER,
            leases: HashMap::new(),
            has_leases_outside: scheduler.leases_outside() < NEVER,
            searched_again: server::now().saturating_add(2 * SEARCHED_AGAIN),
        };
        for slot in scheduler.lease_slots() {
            if let Some(LeaseView { queue, run, time }) = scheduler.lease_at(slot)? {
                times.leases.insert(run, (queue, time));
            }
        }
        Ok(times)
    }

    pub fn compare(
        &self,
        spi: &Spi,
        snapshot: &Snapshot,
        differences: &mut Vec<Difference>,
    ) -> Result<()> {
        let next = [datum(next_transaction_id().cast_signed())];
        let mut compare = |statement, problem, is_watched: &IsWatched| {
            spi.scan(statement, &next, snapshot, BATCH, |rows| {
                for row in 0..rows.len() {
                    let (queue, time): (&str, i64) =
                        (rows.required(row, 1)?, rows.required(row, 2)?);
                    let id: i64 = rows.required(row, 3)?;
                    if !is_watched(queue_key(queue), time, rows, row)? {
                        differences.push(Difference {
                            problem,
                            detail: format!("job {id} of queue {queue}"),
                        });
                    }
                }
                Ok(())
            })
        };
        compare(
            &DUE,
            "the time of a job is not watched",
            &|queue, time, _, _| Ok(self.watches_due(queue, time)),
        )?;
        compare(
            &LEASES,
            "the lease of a run is not watched",
            &|queue, time, rows, row| {
                let (job, attempt) = (rows.required(row, 3)?, rows.required(row, 4)?);
                Ok(self.watches_lease(queue, time, RunId { job, attempt }))
            },
        )
    }

    /// Whether the floor of the queue is no later than the first time of its jobs.
    fn watches_due(&self, queue: u64, time: i64) -> bool {
        match self.queues.get(&queue) {
            Some(known) => known.due_floor.is_none_or(|[floor, _]| floor <= time),
            None => self.has_others || time == NEVER,
        }
    }

    fn watches_lease(&self, queue: u64, lease: i64, run: RunId) -> bool {
        match self.leases.get(&run) {
            Some(&(known, time)) => known == queue && time <= lease.max(self.searched_again),
            None => self.has_leases_outside || lease == NEVER,
        }
    }
}

/// Whether memory watches a time of a queue, which stands in a row.
type IsWatched<'w> = dyn Fn(u64, i64, &Rows, usize) -> Result<bool> + 'w;
