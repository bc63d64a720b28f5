//! What the next run of a worker takes over from the one before, where a call does not say it anew.

use crate::job::column;
use crate::job::later::Later;
use crate::pg::call::{clipped, datum};
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::this_backend;
use crate::pg::spi::Rows;
use crate::pg::tuple::RawRow;
use crate::runs::claimer::{Claimer, worker_key};
use crate::runs::lease::is_lease;
use crate::runs::owner;
use pgrx::datum::Interval;
use turnstile_scheduler::workers::WORKER_NAME;

/// Of a run that has ended.
#[derive(Default)]
pub struct Kept {
    worker: Option<Vec<u8>>,
    lease: Option<Interval>,
    /// It was bound to this connection.
    is_bound: bool,
}

/// Which of it counts.
#[derive(Clone, Copy)]
pub struct Keeps {
    pub worker: bool,
    pub lease: bool,
    pub binding: bool,
}

impl Keeps {
    pub fn any(self) -> bool {
        self.worker || self.lease || self.binding
    }
}

impl Kept {
    /// A row all of whose columns can be read.
    pub fn of_row(job: &RawRow) -> Self {
        let owner = job
            .int4(column::OWNER_PID)
            .zip(job.int8(column::OWNER_STARTED_AT));
        Self {
            worker: job.bytes(column::WORKER).map(<[u8]>::to_vec),
            lease: job.far_interval(Later::of(job).lease),
            is_bound: owner == Some(this_backend()),
        }
    }

    /// The worker, the lease and the owner in a result, from this column on.
    pub fn of_rows(rows: &Rows, row: usize, column: i32) -> Self {
        let owner = rows.value(row, column + 2).zip(rows.value(row, column + 3));
        Self {
            worker: rows.value(row, column).map(String::into_bytes),
            lease: rows.value(row, column + 1),
            is_bound: owner == Some(this_backend()),
        }
    }

    /// The claimer that goes on as the run did, where it does not say otherwise.
    pub fn go_on<'a>(&'a self, keeps: Keeps, claimer: Claimer<'a>) -> Result<Claimer<'a>> {
        let mut claimer = claimer;
        if armed(Seeded::GoOnAnew) {
            return Ok(claimer);
        }
        if let Some(worker) = self.worker.as_deref().filter(|_| keeps.worker) {
            // A bytea and a text are stored alike.
            claimer.worker = datum(worker);
            claimer.name = Some(clipped(worker, WORKER_NAME));
            claimer.key = worker_key(Some(worker));
        }
        if keeps.lease {
            claimer.lease = self.lease.filter(is_lease);
        }
        if keeps.binding && self.is_bound {
            claimer.owner = Some(owner::bind(catalog::job_table()?));
        }
        Ok(claimer)
    }
}
