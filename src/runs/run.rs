//! What a claim wants of a lane, what its jobs get, and which it has started.

use crate::job::column;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::tuple::RawRow;
use crate::runs::claimer::Claimer;
use crate::runs::lane_rows::LaneRows;
use crate::shmem::QueueSettings;
use crate::transaction::pending;
use pgrx::pg_sys::{self, Datum};
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{LeaseView, Picked, RunId};

/// The positions that a look ahead usually returns.
pub const AHEAD: usize = 4;
/// The most jobs that a claim tries in a lane before it tells what it has found.
pub(super) const MOST_TRIED: usize = 10_000;
/// As many as a statement that skips what is locked may have tried.
pub(super) const TRIED_BY_STATEMENT: usize = 1_000;
/// The most batches that one look at a lane opens. Very many may be due at once.
const MOST_OPENINGS: usize = 64;

/// What all jobs of one claim get.
pub(super) struct Run {
    pub(super) worker: Option<Datum>,
    pub(super) owner_pid: Option<Datum>,
    pub(super) owner_started_at: Option<Datum>,
    pub(super) claimed_at: i64,
    /// When the claim looked at the lane.
    looked_at: i64,
    pub(super) lease_expires_at: Option<i64>,
    /// What the claim asked for.
    pub(super) lease: Option<Datum>,
}

/// What a claim has started of a lane.
#[derive(Default)]
pub struct Started {
    /// The positions of the jobs, in order.
    pub positions: Vec<i64>,
    pub(super) runs: Vec<RunId>,
    /// The first positions that were available, including those of locked jobs; none where they are not known.
    pub seen: Vec<i64>,
    /// There were no more than those.
    pub seen_all: bool,
    /// How many jobs were looked at, if none of them was to be had.
    pub(super) tried: usize,
    /// A job was passed over that holds its session, which is paused.
    pub has_paused: bool,
    /// Jobs whose turn opens their batch: they do not start.
    pub openings: Vec<i64>,
}

/// What a claim wants of a lane.
pub struct Wanted<'a> {
    pub picked: &'a Picked,
    pub most: usize,
    /// Positions that this transaction made available itself; they are not committed, so not eligible.
    pub own: &'a [i64],
    pub claimer: &'a Claimer<'a>,
    /// Where the lane goes on behind the last job that is wanted.
    pub with_next: bool,
}

impl Started {
    /// One job more is enough, unless another transaction has it: that may be a claim.
    pub(super) fn see_next(&mut self, found: &mut LaneRows) -> Result<()> {
        for _ in 0..AHEAD {
            let Some(row) = found.next()? else {
                self.seen_all = true;
                return Ok(());
            };
            self.seen.extend(row.int8(column::POSITION));
            if !row.is_held() {
                break;
            }
        }
        Ok(())
    }

    /// How far to look ahead. What is held is not to be tried again and again, a few further each time. A batch that opens leaves the lane,
    /// so that others are seen in its place, which were not tried.
    pub fn ahead(&self) -> usize {
        let found_none = self.positions.is_empty() && self.openings.is_empty();
        match found_none && !armed(Seeded::TryAgainWhatIsHeld) {
            true => self.tried.max(AHEAD),
            false => AHEAD,
        }
    }

    /// Whether these rows say where the lane goes on. What was not to be had may be gone since they were read, and is
    /// not to be waited for then; a batch that opens leaves the lane; and a statement that skips locked rows has not
    /// seen them, although the claim that locked them may be undone.
    pub fn shows_next(&self) -> bool {
        match self.positions.is_empty() {
            true => self.seen.is_empty() && self.seen_all,
            false => !self.seen.is_empty() && self.openings.is_empty(),
        }
    }
}

/// In a session the turn of one job has come.
pub(super) fn most_openings(picked: &Picked) -> usize {
    match picked.spec.session {
        0 => MOST_OPENINGS,
        _ => 1,
    }
}

/// When the jobs of a claim start that looks at the lane now. Where a rate counts starts, windows of claimed_at are exact.
pub(super) fn start_time(picked: &Picked, now: i64) -> i64 {
    if picked.is_metered { picked.now } else { now }
}

impl Run {
    pub(super) fn from_now_on(
        picked: &Picked,
        claimer: &Claimer,
        settings: &QueueSettings,
    ) -> Self {
        let now = server::now();
        let lease = claimer.lease.unwrap_or(settings.lease);
        Self {
            worker: claimer.worker,
            owner_pid: claimer.owner.and_then(|owner| datum(owner.pid)),
            owner_started_at: claimer.owner.and_then(|owner| datum(owner.started_at)),
            claimed_at: start_time(picked, now),
            looked_at: now,
            lease_expires_at: server::later(now, lease),
            lease: claimer.lease.and_then(datum),
        }
    }

    /// Whether the job has come since the lane was picked, which is when runs start where a rate counts them. A clock that was
    /// set back is no reason to wait.
    pub(super) fn begins_before(&self, job: &RawRow) -> bool {
        if self.claimed_at >= self.looked_at || armed(Seeded::ClaimBeforeTime) {
            return false;
        }
        let due = job.int8(column::RUN_AT).unwrap_or(i64::MIN);
        due > self.claimed_at && due <= self.looked_at
    }

    /// The scheduler learns of starts by their reservations, and of the leases here.
    pub(super) fn note_leases(&self, job_table: pg_sys::Oid, queue: u64, started: &mut Started) {
        if started.runs.is_empty() {
            return;
        }
        let time = self.lease_expires_at.unwrap_or(NEVER);
        let runs = started.runs.drain(..);
        let leases = runs.map(|run| LeaseView { queue, run, time });
        pending::note(job_table, |level| {
            leases.for_each(|lease| level.leases.begin(lease))
        });
    }
}
