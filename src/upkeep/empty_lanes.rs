//! Lanes that have become empty without a claim that would notice: jobs were deleted or cancelled, or the gate in front of them stays
//! closed. A look into the tables tells, and memory forgets them.

use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::{self, SECOND};
use crate::pg::spi::Spi;
use crate::runs::look_ahead::look_ahead;
use crate::runs::run::AHEAD;
use crate::shmem::{self, Locked, Phase};
use crate::sync::rebuild::when_ready;
use crate::transaction::pending;
use pgrx::pg_sys;
use turnstile_scheduler::{Outcome, Picked, Step, ToLookAt};

/// Between the looks of claims.
const PAUSE: i64 = SECOND;

struct Effort {
    which: ToLookAt,
    /// What the search may cost while the lock is held: see [`turnstile_scheduler::Scheduler::next_to_look_at`].
    search: u32,
    looks: usize,
}

const OF_CLAIM: Effort = Effort {
    which: ToLookAt::DoubtfulOrHeldUp,
    search: 4_096,
    looks: 32,
};
const OF_WORKER: Effort = Effort {
    which: ToLookAt::Doubtful,
    search: 16_384,
    looks: 512,
};

/// Asked by every claim: now and then it looks at a few lanes.
pub fn duty(memory: &mut Locked) -> Step<Vec<Picked>> {
    let now = server::now();
    if now.saturating_sub(memory.state.lanes_looked_at).abs() < PAUSE {
        return Ok(Vec::new());
    }
    memory.state.lanes_looked_at = now;
    find(memory, &OF_CLAIM)
}

fn find(memory: &mut Locked, effort: &Effort) -> Step<Vec<Picked>> {
    let mut left = memory.scheduler.begin_looks(effort.search);
    let mut found = Vec::new();
    while found.len() < effort.looks {
        match memory.scheduler.next_to_look_at(effort.which, &mut left)? {
            Some(picked) => found.push(picked),
            None => break,
        }
    }
    Ok(found)
}

/// For the worker, a bounded amount.
pub fn see_to(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    let lanes = when_ready(spi, job_table, |memory| {
        match memory.scheduler.doubtful_lanes() {
            0 => Ok(Vec::new()),
            _ => find(memory, &OF_WORKER),
        }
    })?;
    look(spi, job_table, &lanes)
}

/// Tells memory where these lanes go on, or that they do not.
pub fn look(spi: &Spi, job_table: pg_sys::Oid, lanes: &[Picked]) -> Result<()> {
    for picked in lanes.iter().filter(|_| !armed(Seeded::KeepEmptyLanes)) {
        let own = pending::with(|pending| pending.own_positions(picked.spec.lane));
        let (seen, seen_all) = look_ahead(spi, picked, &own, AHEAD)?;
        let outcome = Outcome {
            taken: &[],
            seen: &seen,
            seen_all,
        };
        shmem::with(job_table, |memory| match memory.state.phase {
            Phase::Stale => Ok(()),
            Phase::Ready | Phase::Rebuilding => {
                memory.scheduler.settle(picked, &[], outcome).map(drop)
            }
        })?;
    }
    Ok(())
}
