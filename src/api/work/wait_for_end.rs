//! `wait_for_end`: a procedure that sleeps between transactions until a job has ended.

use crate::api::arguments::{duration, job};
use crate::permission;
use crate::pg::call::{Call, arguments};
use crate::pg::error::{Failure, Result, no_such_job, null_argument};
use crate::pg::rights::Owner;
use crate::pg::spi::{with_nonatomic_spi, with_spi};
use crate::pg::{compat, rights, server};
use crate::runs::finish::state_of;
use crate::shmem::latches::wait_until;
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;

arguments!(wait_for_end: JOB_ID, TIMEOUT);

/// How often it looks, in microseconds: nobody tells it of the end.
const NEXT_LOOK: i64 = server::SECOND / 10;

pub fn wait_for_end(call: &Call) -> Result<Option<Datum>> {
    let job_id = job(call)?;
    let timeout = duration(call, wait_for_end::TIMEOUT, "timeout")?
        .ok_or_else(|| null_argument("timeout"))?;
    let until = server::now().saturating_add(timeout);
    let look = || with_spi(|spi| permission::job_outlook(spi, job_id));
    rights::as_owner(call.function(), look)?;
    let owner = Owner::of_function(call.function())?;
    if call.is_atomic() {
        return Err(in_a_transaction());
    }
    with_nonatomic_spi(|spi| {
        let mut was_there = false;
        loop {
            let has_ended = match owner.run(|| state_of(spi, job_id))? {
                Some(state) => state.is_finished(),
                // It was deleted, or has ended where no history is kept.
                None if was_there => true,
                None => return Err(no_such_job(job_id)),
            };
            was_there = true;
            let now = server::now();
            if has_ended || now >= until {
                return Ok(());
            }
            spi.commit();
            compat::between_transactions(|| wait_until(until.min(now.saturating_add(NEXT_LOOK))));
        }
    })?;
    Ok(Some(Datum::null()))
}

fn in_a_transaction() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        "wait_for_end cannot run inside a transaction block or a function",
    )
    .detail("It ends the transaction, so that no snapshot stays open while it sleeps.")
    .hint("CALL it by itself with autocommit on.")
}
