//! Parents whose turn has come: their children may start once this transaction has committed.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use crate::transaction::pending;
use pgrx::pg_sys;
use turnstile_scheduler::{Picked, ReservationId};

static OPEN: Statement = statement!("open_batches", [INT8ARRAYOID, INT8ARRAYOID, INT8ARRAYOID]);

/// A parent whose turn has come in this lane.
pub struct Turn {
    pub job: i64,
    pub lane_group: i64,
    pub lane: i64,
}

impl Turn {
    pub fn of(picked: &Picked, job: i64) -> Self {
        Self {
            job,
            lane_group: picked.spec.group().cast_signed(),
            lane: picked.spec.lane.cast_signed(),
        }
    }
}

/// Opens the batches of the parents that are still in their lanes; returns how many. Others may wait for the commit, so the call must
/// not sleep before it.
pub fn open(spi: &Spi, turns: &[Turn]) -> Result<usize> {
    if turns.is_empty() {
        return Ok(0);
    }
    let column = |read: fn(&Turn) -> i64| datum(turns.iter().map(read).collect::<Vec<_>>());
    let arguments = [
        column(|turn| turn.job),
        column(|turn| turn.lane_group),
        column(|turn| turn.lane),
    ];
    let opened = spi.run(&OPEN, &arguments)?.len();
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
