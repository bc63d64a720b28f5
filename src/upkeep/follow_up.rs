//! Jobs that wait for others: parents for their children, followers for their predecessors. And what a batch that was stopped, or
//! given another priority, means to its children.
//!
//! Memory lists jobs after which others have to be looked at ([`crate::shmem::FollowUps`]); the tables say what is to be done. A
//! blocked job is decided on with a snapshot that is younger than the lock on its row. A transaction that adds children to it has
//! locked it, too; so no child is overlooked.

mod effort;
mod look;
mod outcome;

pub use effort::Effort;

use crate::pg::error::Result;
use crate::pg::server::{self, SECOND};
use crate::pg::spi::Spi;
use crate::shmem::{FollowUp, Locked};
use crate::transaction::{self, own, pending};
use crate::upkeep::unfinished::Unfinished;
use crate::upkeep::walk;
use effort::CHUNK;
use look::{Look, fail};
use pgrx::pg_sys;

/// From one walk over all jobs to the next, where the first was not enough.
const WALK_AGAIN: i64 = SECOND / 2;

/// Asked by every claim: what no other claim is looking at.
pub fn duty(memory: &mut Locked, effort: Effort) -> Option<FollowUp> {
    let (follow_ups, now) = (&memory.state.follow_ups, server::now());
    let is_due =
        follow_ups.next() <= now && follow_ups.since() <= now.saturating_sub(effort.patience);
    let again = now.saturating_add(WALK_AGAIN);
    let taken = is_due.then(|| memory.state.follow_ups.take(effort.jobs, again));
    taken.filter(|taken| !taken.is_empty())
}

/// What was taken from memory comes back if this transaction fails, whatever it does before it looks.
pub fn note(job_table: pg_sys::Oid, taken: Option<&FollowUp>) {
    if let Some(taken) = taken {
        pending::note(job_table, |level| level.followed_up.absorb(taken.clone()));
    }
}

pub fn perform(spi: &Spi, job_table: pg_sys::Oid, taken: FollowUp, effort: Effort) -> Result<()> {
    let mut jobs = taken.jobs;
    let mut left = Unfinished::default();
    // Where one always fails, the walk finds the others.
    if taken.is_lost && !taken.singly {
        left.later.extend(fail(spi, None)?);
    }
    if let Some(walk) = taken.walk {
        let (found, next) = walk::go_on(spi, walk, effort.jobs)?;
        left.walk = next;
        match taken.singly {
            true => left.now.extend(found),
            false => jobs.extend(found),
        }
    }
    let mut look = Look::new(spi, job_table, effort.chunk);
    look.left = left;
    look.at(&jobs)?;
    if transaction::has_id() {
        pending::must_commit_before_sleep();
    }
    look.left.put_back(job_table)
}

/// For `claim_own`: the same for what this transaction has changed, which is nothing to others. What it releases is its own.
pub fn perform_own(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    loop {
        let jobs = pending::with(|pending| pending.own_follow_ups());
        if jobs.is_empty() {
            return Ok(());
        }
        pending::note(job_table, |level| {
            own::add(&mut level.own.followed, jobs.iter().map(|&job| (job, 1)));
        });
        let mut ahead = jobs;
        while !ahead.is_empty() {
            let mut look = Look::new(spi, job_table, CHUNK);
            look.is_own = true;
            look.at(&ahead)?;
            ahead = look.left.now;
        }
    }
}
