//! The next jobs of a lane, without starting them.

use crate::job::column;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use crate::runs::lane_rows::LaneRows;
use crate::table::{self, Jobs, Operation};
use crate::transaction::pending;
use pgrx::pg_sys;
use std::rc::Rc;
use turnstile_scheduler::Picked;

static LOOK_AHEAD: Statement = statement!(
    "look_ahead",
    [INT8OID, INT8OID, INT8OID, INT8ARRAYOID, INT4OID]
);

/// Up to so many of the next available positions of the lane, locked or not, and whether there are no more.
pub fn look_ahead(
    spi: &Spi,
    picked: &Picked,
    own: &[i64],
    most: usize,
) -> Result<(Vec<i64>, bool)> {
    let jobs = table::lock_jobs(pg_sys::AccessShareLock)?;
    let mut ahead = match jobs.is_direct() {
        true => look_directly(&jobs, picked, own, most)?,
        false => look_by_statement(spi, picked, own, most)?,
    };
    let is_all = ahead.len() < most;
    add_gone(picked, &mut ahead);
    Ok((ahead, is_all))
}

/// For other transactions, a job that this transaction took out of a session is its next one until the commit.
pub fn add_gone(picked: &Picked, ahead: &mut Vec<i64>) {
    if picked.spec.session == 0 {
        return;
    }
    let gone = pending::with(|pending| pending.least_gone(picked.spec.lane));
    if let Some(gone) = gone.filter(|&gone| gone >= picked.head) {
        ahead.push(gone);
        ahead.sort_unstable();
    }
}

fn look_directly(jobs: &Rc<Jobs>, picked: &Picked, own: &[i64], most: usize) -> Result<Vec<i64>> {
    table::command(|command| {
        let jobs = command.open(jobs, Operation::Look);
        let mut found = LaneRows::of(&jobs, picked, most, own)?;
        let mut ahead = Vec::with_capacity(most + 1);
        while ahead.len() < most {
            let Some(row) = found.next()? else {
                break;
            };
            ahead.extend(row.int8(column::POSITION));
        }
        Ok(ahead)
    })
}

fn look_by_statement(spi: &Spi, picked: &Picked, own: &[i64], most: usize) -> Result<Vec<i64>> {
    let rows = spi.run(
        &LOOK_AHEAD,
        &[
            datum(picked.spec.group().cast_signed()),
            datum(picked.spec.lane.cast_signed()),
            datum(picked.head),
            datum(own),
            datum(i32::try_from(most).unwrap_or(i32::MAX)),
        ],
    )?;
    (0..rows.len()).map(|row| rows.required(row, 1)).collect()
}
