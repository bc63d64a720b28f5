//! Sleeping until there is work: in a procedure between transactions, or within a claim.

use crate::api::claim::finds_work;
use crate::api::claimer::Claimer;
use crate::api::names::{check_wait, queue_keys};
use crate::api::output::Output;
use crate::api::permitted;
use crate::call::{Call, must_be_writable};
use crate::error::{Failure, Result, null_argument};
use crate::plan::{Spi, with_nonatomic_spi};
use crate::rebuild::when_ready;
use crate::rights::Owner;
use crate::sleep::{self, End, Sleep};
use crate::{catalog, errands, listen, overflow, server, shmem};
use pgrx::pg_sys::{self, Datum};
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::EVERY_QUEUE;
use turnstile_scheduler::waiting::MAX_QUEUES;

pub fn wait_for_job(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let queues = queue_keys(call, 0)?;
    let timeout = duration(call, 1, "timeout")?.ok_or_else(|| null_argument("timeout"))?;
    let until = server::now().saturating_add(timeout);
    let queues = permitted::awaited(&queues)?;
    let queues = awaited(&queues)?;
    if call.is_atomic() {
        return Err(in_a_transaction());
    }
    let owner = Owner::of_function(call.function())?;
    let job_table = catalog::job_table()?;
    shmem::with(job_table, |_| Ok(()))?;
    let sleep = Sleep {
        job_table,
        queues,
        until,
        is_between_transactions: true,
    };
    with_nonatomic_spi(|spi| {
        loop {
            spi.commit();
            match sleep.run()? {
                End::Work => {
                    if owner.run(|| there_is_work(spi, &sleep))? {
                        return Ok(());
                    }
                }
                End::Timeout | End::Gone => return Ok(()),
                End::Rebuild => owner.run(|| when_ready(spi, job_table, |_| Ok(())))?,
                End::Due => owner.run(|| see_to_what_is_due(spi, job_table))?,
            }
        }
    })?;
    Ok(Some(Datum::null()))
}

/// Claims up to `most` jobs, the queues in the order given; where there is none it sleeps, if it is to.
pub fn claim_or_wait(
    spi: &Spi,
    queues: &[u64],
    most: usize,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<()> {
    let Some(wait) = claimer.wait else {
        return permitted::claim(spi, queues, most, claimer, output).map(drop);
    };
    let meant = permitted::awaited(queues)?;
    let sleep = Sleep {
        job_table: catalog::job_table()?,
        queues: awaited(&meant)?,
        until: server::now().saturating_add(wait),
        is_between_transactions: false,
    };
    sleep::staying(|| {
        while permitted::claim(spi, queues, most, claimer, output)? == 0 && most > 0 {
            match sleep.run()? {
                End::Timeout => return listen::arm(spi, sleep.job_table, sleep.queues),
                End::Gone => break,
                End::Work | End::Due | End::Rebuild => {}
            }
        }
        Ok(())
    })
}

/// Spares the client a claim in vain: memory may believe in jobs that are gone.
fn there_is_work(spi: &Spi, sleep: &Sleep) -> Result<bool> {
    for &queue in sleep.queues {
        if finds_work(spi, sleep.job_table, queue)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For everybody: who is concerned is woken when it commits.
fn see_to_what_is_due(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    errands::run(spi, job_table, &[EVERY_QUEUE], usize::MAX)?;
    overflow::load_some(spi, job_table)
}

/// The queues of one who waits.
fn awaited(keys: &[u64]) -> Result<&[u64]> {
    if keys.len() <= MAX_QUEUES {
        return Ok(keys);
    }
    let count = keys.len();
    Err(Failure::new(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "too many queues to wait for",
    )
    .detail(format!("There are {count}; {MAX_QUEUES} are allowed."))
    .hint("Wait for '*', which stands for all queues, as a role that may work on all of them."))
}

/// An interval in microseconds that is not negative.
pub fn duration(call: &Call, index: usize, name: &str) -> Result<Option<i64>> {
    check_wait(call, index, name)?;
    let micros = call.interval_micros(index);
    Ok(micros.and_then(|micros| i64::try_from(micros).ok()))
}

fn in_a_transaction() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
        "wait_for_job cannot run inside a transaction block or a function",
    )
    .detail("It ends the transaction, so that no snapshot stays open while it sleeps.")
    .hint("CALL it by itself with autocommit on, or use the argument wait of claim_next.")
}
