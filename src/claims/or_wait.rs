//! A claim that sleeps where there is nothing to claim.

use crate::claims::permitted;
use crate::pg::catalog;
use crate::pg::error::{Failure, Result};
use crate::pg::output::Output;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::runs::claimer::Claimer;
use crate::transaction::claim::losable;
use crate::transaction::pending;
use crate::waiting::channels;
use crate::waiting::sleep::{self, End, Sleep};
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::waiting::MAX_QUEUES;

/// Claims up to `most` jobs, from the queues that the call names, in order. If there are none, it sleeps where the call asks
/// for that.
pub fn claim_or_wait(spi: &Spi, most: usize, claimer: &Claimer, output: &mut Output) -> Result<()> {
    losable(|| claim(spi, most, claimer, output))
}

fn claim(spi: &Spi, most: usize, claimer: &Claimer, output: &mut Output) -> Result<()> {
    let Some(wait) = claimer.wait else {
        return permitted::claim(spi, most, claimer, output).map(drop);
    };
    let job_table = catalog::job_table()?;
    let until = server::now().saturating_add(wait);
    sleep::staying(job_table, || {
        // What earlier calls of this transaction have left uncommitted is the caller's affair.
        pending::with(|pending| pending.must_not_sleep = false);
        loop {
            // While it slept, permissions may have changed.
            let meant = permitted::awaited(claimer.queues)?;
            let sleep = Sleep {
                job_table,
                queues: awaited(&meant)?,
                until,
                is_between_transactions: false,
            };
            let is_time_over = server::now() >= until && !armed(Seeded::WaitForEver);
            if permitted::claim(spi, most, claimer, output)? > 0 || most == 0 {
                return Ok(());
            }
            // Memory may list jobs that are not to be had for a long time.
            let slept = match is_time_over || pending::with(|pending| pending.must_not_sleep) {
                true => None,
                false => Some(sleep.run()?),
            };
            match slept {
                None | Some(End::Timeout) => return channels::arm(spi, job_table, sleep.queues),
                Some(End::Gone) => return Ok(()),
                Some(End::Work | End::Due | End::Rebuild) => {}
            }
        }
    })
}

/// The queues that a waiting claim names.
pub fn awaited(keys: &[u64]) -> Result<&[u64]> {
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
