//! `wait_for_job`: a procedure that sleeps between transactions until there is work.

use crate::api::arguments::{duration, queue_keys};
use crate::claims::or_wait::awaited;
use crate::claims::permitted;
use crate::claims::search::finds_work;
use crate::pg::call::{Call, arguments, must_be_writable};
use crate::pg::error::{Failure, Result, null_argument};
use crate::pg::rights::Owner;
use crate::pg::spi::{Spi, with_nonatomic_spi};
use crate::pg::{catalog, compat, server};
use crate::shmem::{self, sleeper};
use crate::sync::rebuild::when_ready;
use crate::transaction;
use crate::upkeep;
use crate::waiting::sleep::{End, Sleep};
use pgrx::pg_sys::Datum;
use pgrx::prelude::PgSqlErrorCode;

arguments!(wait_for_job: QUEUES, TIMEOUT);

pub fn wait_for_job(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let queues = queue_keys(call, wait_for_job::QUEUES)?;
    let timeout = duration(call, wait_for_job::TIMEOUT, "timeout")?
        .ok_or_else(|| null_argument("timeout"))?;
    let until = server::now().saturating_add(timeout);
    let first = permitted::awaited(&queues)?;
    awaited(&first)?;
    if call.is_atomic() {
        return Err(in_a_transaction());
    }
    let owner = Owner::of_function(call.function())?;
    let job_table = catalog::job_table()?;
    shmem::with(job_table, |_| Ok(()))?;
    with_nonatomic_spi(|spi| {
        let mut woken = None;
        loop {
            if let Some(End::Timeout | End::Gone) = woken {
                return Ok(());
            }
            // While it slept, permissions may have changed.
            let meant = permitted::awaited(&queues)?;
            let sleep = Sleep {
                job_table,
                queues: awaited(&meant)?,
                until,
                is_between_transactions: true,
            };
            match woken {
                Some(End::Work) if owner.run(|| there_is_work(spi, &sleep))? => return Ok(()),
                Some(End::Rebuild) => owner.run(|| when_ready(spi, job_table, |_| Ok(())))?,
                Some(End::Due) => owner.run(|| see_to_events(spi, &sleep))?,
                _ => {}
            }
            // Memory may list jobs that are not to be had for a long time.
            if woken.is_some() && server::now() >= until {
                return sleeper::end_wait();
            }
            spi.commit();
            woken = Some(compat::between_transactions(|| sleep.run())?);
        }
    })?;
    Ok(Some(Datum::null()))
}

/// Spares the client a claim in vain: memory may list jobs that are gone. Jobs that have fallen due are made available.
fn there_is_work(spi: &Spi, sleep: &Sleep) -> Result<bool> {
    upkeep::see_to(spi, sleep.job_table, sleep.queues)?;
    for &queue in sleep.queues {
        if finds_work(spi, sleep.job_table, queue)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Does so, and what else claims do in passing. The commit wakes the processes that it concerns.
fn see_to_events(spi: &Spi, sleep: &Sleep) -> Result<()> {
    upkeep::run(spi, sleep.job_table, sleep.queues, usize::MAX)?;
    match transaction::has_id() {
        true => shmem::with(sleep.job_table, |memory| {
            memory.go_on_with_follow_ups();
            Ok(())
        }),
        false => Ok(()),
    }
}

fn in_a_transaction() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        "wait_for_job cannot run inside a transaction block or a function",
    )
    .detail("It ends the transaction, so that no snapshot stays open while it sleeps.")
    .hint("CALL it by itself with autocommit on, or use the argument wait of claim_next.")
}
