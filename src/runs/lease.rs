//! How long a claim holds a job: the queue's setting, kept until it changes.

use crate::job::lane::{DEFAULT_ROW, queue_key};
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::spi::{Spi, Statement, statement};
use pgrx::datum::Interval;
use std::cell::RefCell;
use std::collections::HashMap;
use turnstile_scheduler::Picked;

static LEASE: Statement = statement!("queue_lease", [INT8OID, INT8OID]);

/// A queue without any row of settings: the default row was deleted.
const FALLBACK_MINUTES: i32 = 5;
/// The most queues that a backend remembers.
const MOST: usize = 1_000;

thread_local! {
    /// By queue: the version of its settings, and the lease read since.
    static KEPT: RefCell<HashMap<u64, (u32, Interval)>> = RefCell::default();
}

/// The lease of the picked lane's queue. The pick has noted the version of the settings; a transaction that changes
/// them draws a new one, so a lease read after the pick is right for that version.
pub fn of_queue(spi: &Spi, picked: &Picked) -> Result<Interval> {
    let queue = picked.spec.queue;
    let kept = KEPT.with_borrow(|kept| kept.get(&queue).copied());
    if let Some((_, lease)) = kept.filter(|&(version, _)| version == picked.settings_version) {
        return Ok(lease);
    }
    let gates = [queue, queue_key(DEFAULT_ROW)].map(|gate| datum(gate.cast_signed()));
    let lease = match spi.committed::<Interval>(c"queue", &LEASE, &gates)? {
        Some(lease) => lease,
        None => Interval::from_minutes(FALLBACK_MINUTES),
    };
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(queue, (picked.settings_version, lease));
    });
    Ok(lease)
}
