//! Parents whose turn has come: their children may start once this transaction has committed.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use crate::transaction::pending;
use pgrx::pg_sys;
use turnstile_scheduler::{Picked, ReservationId};

static OPEN: Statement = statement!("open_batches", [INT8ARRAYOID]);

/// Opens the batches of these jobs, which a claim has found in their lane; returns how many. Others may wait for the commit, so the
/// call must not sleep before it.
pub fn open(spi: &Spi, jobs: &[i64]) -> Result<usize> {
    if jobs.is_empty() {
        return Ok(0);
    }
    let opened = spi.run(&OPEN, &[datum(jobs)])?.len();
    if opened > 0 {
        pending::must_commit_before_sleep();
    }
    Ok(opened)
}

/// The room in the session of a job that opens its batch is kept until memory knows that the job holds the session. Others see the
/// commit before that, and would take the next job of the session. Returns the reservations that are left.
pub fn keep_turn<'r>(
    job_table: pg_sys::Oid,
    picked: &Picked,
    reservations: &'r [ReservationId],
    opened: usize,
) -> &'r [ReservationId] {
    let is_turn = opened > 0 && picked.spec.session != 0;
    let Some((turn, left)) = reservations.split_first().filter(|_| is_turn) else {
        return reservations;
    };
    pending::note(job_table, |level| {
        let mut reserved = level.reservations.iter_mut();
        if let Some(kept) = reserved.find(|reserved| reserved.id == *turn) {
            kept.is_turn = true;
        }
    });
    left
}
