//! Listeners: clients that wait for notifications in an event loop of their own.

use crate::job::gates::DEFAULT_ROW;
use crate::job::lane::queue_key;
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, internal, too_long};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::{self, SECOND};
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::{self, latches};
use pgrx::pg_sys;
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::EVERY_QUEUE;
use turnstile_scheduler::waiting::{MAX_CHANNELS, UnreadSetting};

static NOTIFY: Statement = statement!("queue_notify", [INT8OID]);

/// How long the process that notifies may take to begin, once the server is up.
const TO_BEGIN: i64 = 5 * SECOND;
const BETWEEN_LOOKS: i64 = SECOND / 50;

/// From now on, claims of the queue that find nothing have its listeners notified of work.
pub fn listen(job_table: pg_sys::Oid, queue: u64) -> Result<()> {
    await_notifier(job_table)?;
    match shmem::with(job_table, |memory| Ok(memory.channels.listen(queue, server::now())))? {
        true => Ok(()),
        false => Err(too_long("too many queues are listened to")
            .detail(format!(
                "There is room for {MAX_CHANNELS} channels; each is in use, or was asked for just now."
            ))
            .hint("Listen to the channel of '*', which stands for all queues.")),
    }
}

fn await_notifier(job_table: pg_sys::Oid) -> Result<()> {
    let give_up = server::now().saturating_add(TO_BEGIN);
    while !shmem::with(job_table, |memory| Ok(memory.channels.has_notifier()))? {
        if server::now() > give_up {
            return Err(no_notifier());
        }
        latches::wait_until(server::now().saturating_add(BETWEEN_LOOKS));
    }
    Ok(())
}

/// A claim has found nothing in these queues. If there is work by now, listeners are notified at once.
pub fn arm(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64]) -> Result<()> {
    for &queue in queues.iter().filter(|_| !armed(Seeded::TellNobody)) {
        while let Some(unread) = shmem::with(job_table, |memory| Ok(memory.channels.arm(queue)))? {
            let is_on = reads_on(spi, &unread)?;
            shmem::with(job_table, |memory| {
                memory.channels.store_setting(unread, is_on);
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn reads_on(spi: &Spi, unread: &UnreadSetting) -> Result<bool> {
    let row = match unread.queue {
        EVERY_QUEUE => queue_key(DEFAULT_ROW),
        queue => queue,
    };
    spi.committed(c"queue", &NOTIFY, &[datum(row.cast_signed())])?
        .ok_or_else(|| internal("no setting of notify is in force"))
}

fn no_notifier() -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "listeners cannot be notified",
    )
    .detail("The background worker \"turnstile notifier\" is not running.")
    .hint("See the server's log; raise max_worker_processes and restart the server.")
}
