//! How long a claim holds a job: the queue's setting, kept until it changes.

use crate::job::gates::DEFAULT_ROW;
use crate::job::lane::queue_key;
use crate::pg::call::datum;
use crate::pg::error::{Result, internal};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::LONGEST_TIME;
use crate::pg::spi::{Spi, Statement, statement};
use pgrx::datum::Interval;
use std::cell::RefCell;
use std::collections::HashMap;
use turnstile_scheduler::{EVERY_QUEUE, Picked};

static LEASE: Statement = statement!("queue_lease", [INT8OID]);

/// Whether it leaves the worker some time.
pub fn is_lease(lease: &Interval) -> bool {
    (1..=LONGEST_TIME).contains(&lease.as_micros())
}

/// The most queues that a backend remembers.
const MOST: usize = 1_000;

thread_local! {
    /// By queue with a row of settings, and for all without one: the version of the row, and the lease read since.
    static KEPT: RefCell<HashMap<u64, (u32, Interval)>> = RefCell::default();
}

/// The lease of the picked lane's queue. The pick has noted whose row of settings holds, and its version; a transaction
/// that changes the row draws a new one, so a lease read after the pick is right for that version.
pub fn of_queue(spi: &Spi, picked: &Picked) -> Result<Interval> {
    let queue = picked.settings_of;
    let kept = KEPT.with_borrow(|kept| kept.get(&queue).copied());
    let is_as_read = |&(version, _): &(u32, Interval)| {
        version == picked.settings_version
            || queue == EVERY_QUEUE && armed(Seeded::KeepDefaultLease)
    };
    if let Some((_, lease)) = kept.filter(is_as_read) {
        return Ok(lease);
    }
    // Queues without a row share what is read, even if one of them has just got one.
    let row = if queue == EVERY_QUEUE {
        queue_key(DEFAULT_ROW)
    } else {
        queue
    };
    let lease = spi
        .committed::<Interval>(c"queue", &LEASE, &[datum(row.cast_signed())])?
        .ok_or_else(|| internal("no lease is in force"))?;
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(queue, (picked.settings_version, lease));
    });
    Ok(lease)
}
