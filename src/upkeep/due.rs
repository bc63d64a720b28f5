//! What is due in the queues of a claim: jobs whose time has come, and leases that have ended.

use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::shmem::{Locked, Search};
use crate::sync::rebuild::when_ready;
use crate::transaction;
use crate::upkeep::promotion::{self, Due};
use crate::upkeep::rescue;
use pgrx::pg_sys;
use turnstile_scheduler::{EVERY_QUEUE, Step};

/// Promotions and searches of one call: very many queues may fall due at once.
const TASKS: usize = 16;

/// How much a call may do.
pub struct Effort {
    promotions: i64,
    rescues: i64,
}

impl Effort {
    /// What is promoted or rescued stays locked until the transaction ends. So a claim inside a transaction block, which may
    /// stay open, does no more than it came for.
    pub fn of_claim(most: usize) -> Self {
        let most = match transaction::may_stay_open() {
            true => i64::try_from(most).unwrap_or(i64::MAX),
            false => i64::MAX,
        };
        Self {
            promotions: most.min(promotion::BATCH),
            rescues: most.min(rescue::BATCH),
        }
    }

    /// That of a process which keeps no client waiting.
    pub fn of_worker() -> Self {
        Self {
            promotions: promotion::BATCH,
            rescues: rescue::BATCH,
        }
    }
}

/// Taken from memory: no other process does the same meanwhile.
enum Task {
    Promote(Due),
    Rescue(u64, Search),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Promote,
    Rescue,
}

/// Does what is due in these queues, and no more than the effort allows.
pub fn see_to(spi: &Spi, job_table: pg_sys::Oid, queues: &[u64], effort: Effort) -> Result<()> {
    let mut left = effort;
    let mut done = Vec::new();
    while done.len() < TASKS {
        let task = when_ready(spi, job_table, |memory| next(memory, queues, &left, &done))?;
        let Some(task) = task else {
            break;
        };
        match task {
            Task::Promote(due) => {
                done.push((due.queue, Kind::Promote));
                let promoted = promotion::perform(spi, job_table, &due, left.promotions)?;
                left.promotions -= i64::try_from(promoted).unwrap_or(i64::MAX);
            }
            Task::Rescue(queue, search) => {
                done.push((queue, Kind::Rescue));
                let rescued = rescue::perform(spi, job_table, &search)?.rescued;
                left.rescues -= i64::try_from(rescued).unwrap_or(i64::MAX);
            }
        }
    }
    Ok(())
}

fn next(
    memory: &mut Locked,
    queues: &[u64],
    left: &Effort,
    done: &[(u64, Kind)],
) -> Step<Option<Task>> {
    let now = server::now();
    if memory.scheduler.next_due() > now {
        return Ok(None);
    }
    let all = [EVERY_QUEUE];
    let queues = match armed(Seeded::PromoteForAll) {
        true => &all,
        false => queues,
    };
    for &named in queues {
        let queue = match named {
            EVERY_QUEUE => memory.scheduler.first_due(now)?,
            queue => Some(queue),
        };
        let Some(queue) = queue else {
            continue;
        };
        let (due, lease) = memory.scheduler.times_of(queue)?;
        if due <= now && left.promotions > 0 && !done.contains(&(queue, Kind::Promote)) {
            return promotion::take(memory, queue).map(|due| Some(Task::Promote(due)));
        }
        if lease <= now && left.rescues > 0 && !done.contains(&(queue, Kind::Rescue)) {
            let most = usize::try_from(left.rescues).unwrap_or(0);
            let search = memory.take_search(queue, now, most)?;
            return Ok(Some(Task::Rescue(queue, search)));
        }
    }
    Ok(None)
}
