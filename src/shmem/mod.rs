//! Shared memory: one scheduler per database, each in a window of its own behind an LWLock. The only pointer casts.

mod backlog;
mod directory;
mod due;
mod failed_runs;
mod file;
mod follow_ups;
mod growth;
pub mod hooks;
pub mod latches;
mod layout;
mod notifier;
mod owners;
mod patrol;
mod read;
mod recall;
mod recurring;
mod set_aside;
pub mod sleeper;
mod statistics_file;
mod stock;
mod uses;
mod wakeups;
mod window;

use crate::pg::error::{Failure, Result, internal, no_room};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
#[cfg(feature = "fault_injection")]
use crate::pg::settings;
use pgrx::pg_sys;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use turnstile_scheduler::figures::Figures;
use turnstile_scheduler::waiting::Channels;
use turnstile_scheduler::waiting::Waiting;
use turnstile_scheduler::{Fault, LaneSpec, ReservationId, Scheduler, Step};

pub use backlog::{Admission, BOUNDED_KINDS, Bound, Means};
use directory::{Entry, Guard};
pub use due::{SEARCHED_AGAIN, Search};
pub use failed_runs::{FailedRun, FailedRuns};
pub use follow_ups::{FollowUp, FollowUps, Part, Walk};
use growth::Growth;
use layout::Sizes;
pub use notifier::{
    Owed, begin_notifier, database_of, end_notifier, end_visit, knows_recurring, note_sent, slots,
    start_smaller, take_lack, take_owed, tidy, visited,
};
pub use owners::{Gone, GoneOwners, Owner};
pub use patrol::{Patrol, look};
pub use read::QueueSettings;
use read::Read;
pub use recall::{FOUND, recall, remember, remember_bounds, remember_condition};
pub use recurring::Recurring;
use set_aside::SetAside;
pub use stock::{FILL, Stock};
pub use uses::uses;
pub use window::release;
use window::{assign_slot, cached_slot, existing_slot, my_database, open};

/// How far the memory of a database can be trusted.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Must be rebuilt before use.
    #[default]
    Stale,
    /// A backend is reading the tables; commits are applied, claims wait.
    Rebuilding,
    Ready,
}

/// What a database's window holds besides the scheduler.
#[repr(C)]
#[derive(Debug, Default)]
pub struct DatabaseState {
    /// How many slots there are to open.
    sizes: Sizes,
    /// When the system last refused memory.
    refused_at: i64,
    pub phase: Phase,
    /// Set while a step is under way. If it is found set, the step was cut short.
    dirty: bool,
    /// The rebuild that the memory comes from.
    pub generation: u64,
    pub gone: GoneOwners,
    pub follow_ups: FollowUps,
    pub failed_runs: FailedRuns,
    pub patrol: Patrol,
    pub recurring: Recurring,
    read: Read,
    /// When a claim last checked how far positions have been drawn.
    pub sequence_seen_at: i64,
    set_aside: SetAside,
    /// Transactions from here on, and the listed ones, were not visible to the last rebuild.
    pub rebuild_xmax: u64,
    pub rebuild_running: u32,
}

/// One database's memory, while its lock is held.
pub struct Locked<'m> {
    pub state: &'m mut DatabaseState,
    pub scheduler: Scheduler<'m>,
    /// Top-level transactions that ran when the last rebuild took its snapshot.
    pub running_at_rebuild: &'m mut [u32],
    pub waiting: Waiting<'m>,
    pub channels: &'m mut Channels,
    pub figures: Figures<'m>,
    growth: Growth,
    /// How many more jobs there are to claim, by queue.
    work: Vec<(u64, u32)>,
    /// The processes to wake when the lock is released.
    calls: Vec<u32>,
}

impl Locked<'_> {
    /// Whether the last rebuild's snapshot saw the commit of a transaction.
    pub fn rebuild_has_seen(&self, id: u64) -> bool {
        let running = self.state.rebuild_running as usize;
        let short = id as u32;
        id != 0
            && id < self.state.rebuild_xmax
            && !self
                .running_at_rebuild
                .iter()
                .take(running)
                .any(|&r| r == short)
    }

    /// Takes steps that end reservations. If they are cut short, the memory will be rebuilt. A reservation that they
    /// did not reach must not outlive its owner, and one that they ended must not be ended again once it belongs to
    /// another: so all are dropped under the same lock.
    pub fn end_reservations<R>(
        &mut self,
        ids: impl Iterator<Item = ReservationId>,
        steps: impl FnOnce(&mut Self) -> Step<R>,
    ) -> Step<R> {
        match catch_unwind(AssertUnwindSafe(|| steps(self))) {
            Ok(Ok(result)) => Ok(result),
            cut_short => {
                self.state.phase = Phase::Stale;
                if !armed(Seeded::KeepReservationsCutShort) {
                    self.forget_reservations(ids)?;
                }
                cut_short.unwrap_or(Err(Fault::Corrupt("a step was cut short")))
            }
        }
    }

    /// While the memory waits for a rebuild, only the slots of reservations matter.
    pub fn forget_reservations(&mut self, ids: impl Iterator<Item = ReservationId>) -> Step<()> {
        for id in ids {
            self.scheduler.forget(id)?;
        }
        Ok(())
    }

    /// A job became available at `position`.
    pub fn lower(&mut self, spec: &LaneSpec, position: i64) -> Step<()> {
        if self.scheduler.has_calendar() && !armed(Seeded::DateNobody) {
            self.scheduler.note_position(position, server::now())?;
        }
        self.scheduler.lower(spec, position)
    }

    /// Routes or settings of queues have changed.
    pub fn draw_routes_version(&mut self) {
        let entry = self.growth.entry;
        entry.routes_version.fetch_add(1, Ordering::Release);
        if !armed(Seeded::KeepReadSettings) {
            self.channels.forget_settings();
        }
    }

    /// Bounds of backlogs have changed.
    pub fn draw_bounds_version(&mut self) {
        let entry = self.growth.entry;
        entry.bounds_version.fetch_add(1, Ordering::Release);
    }

    /// Has the next use rebuild the memory, unless a rebuild is under way.
    pub fn ask_for_rebuild(&mut self) {
        if self.state.phase == Phase::Ready {
            self.state.phase = Phase::Stale;
        }
    }

    /// Marks the whole memory as not to be trusted.
    fn distrust(&mut self) {
        self.state.phase = Phase::Stale;
        self.figures.distrust();
        self.workers().forget_everything();
        // Changes of these may be among what was missed.
        self.draw_routes_version();
        self.draw_bounds_version();
    }
}

fn slot(job_table: pg_sys::Oid) -> Result<usize> {
    match cached_slot(job_table) {
        Some(slot) => Ok(slot),
        None => assign_slot(job_table),
    }
}

/// Sees to it that the end of a transaction, which can give the database no memory, finds some. Where there is none to be
/// had, nothing is counted.
pub fn provide(job_table: pg_sys::Oid) {
    let _ = slot(job_table);
}

/// Drawn anew by each commit that changes routes or settings of queues, once its rows are visible. What is read after
/// this call is right for as long as the call returns the same. None: there is no memory for the database, and nothing
/// that is read can be kept.
pub fn routes_version(job_table: pg_sys::Oid) -> Option<u64> {
    version(job_table, |entry| &entry.routes_version)
}

/// As [`routes_version`], of the bounds of backlogs.
pub fn bounds_version(job_table: pg_sys::Oid) -> Option<u64> {
    version(job_table, |entry| &entry.bounds_version)
}

/// The numbers of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Ids,
    Positions,
}

/// Those that were drawn ahead. None: there is no memory for the database.
pub fn stock(job_table: pg_sys::Oid, numbers: Numbers) -> Option<&'static Stock> {
    let entry = slot(job_table).and_then(directory::entry).ok()?;
    Some(match numbers {
        Numbers::Ids => &entry.ids,
        Numbers::Positions => &entry.positions,
    })
}

/// The claim epoch of the database: see `job::claim_epoch`. None: there is no memory for the database.
pub fn claim_epoch(job_table: pg_sys::Oid) -> Option<&'static AtomicU32> {
    let entry = slot(job_table).and_then(directory::entry).ok()?;
    Some(&entry.claim_epoch)
}

/// Whether commits that nobody waited for may be missing since the server's start.
pub fn may_lack_commits() -> bool {
    directory::may_lack_commits() && !armed(Seeded::TrustEachStart)
}

fn version(job_table: pg_sys::Oid, of: impl Fn(&Entry) -> &AtomicU64) -> Option<u64> {
    let entry = slot(job_table).and_then(directory::entry).ok()?;
    Some(of(entry).load(Ordering::Acquire))
}

/// Runs steps on the memory of this database, giving it a slot if it has none.
pub fn with<R>(job_table: pg_sys::Oid, mut steps: impl FnMut(&mut Locked) -> Step<R>) -> Result<R> {
    loop {
        let slot = slot(job_table)?;
        if let Some(result) = run(slot, job_table, &mut steps)? {
            return Ok(result);
        }
    }
}

/// As [`with`], for commit and abort callbacks: without a slot there is nothing to keep right. What could not be done is
/// made up for by the next rebuild.
pub fn with_existing<R>(
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let slot = match cached_slot(job_table) {
        Some(slot) => Some(slot),
        None => existing_slot()?,
    };
    match slot {
        Some(slot) => run(slot, job_table, steps),
        None => Ok(None),
    }
}

/// None if the slot belongs to another extension by now.
fn run<R>(
    slot: usize,
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let is_own = |owner| owner == (my_database(), job_table);
    enter(
        slot,
        |owner| is_own(owner) || armed(Seeded::UseForeignSlot),
        steps,
    )
}

/// None if the slot is not the one that was meant. If a step fails or panics, the memory stays marked dirty and the
/// next use rebuilds it.
fn enter<R>(
    slot: usize,
    is_meant: impl FnOnce((pg_sys::Oid, pg_sys::Oid)) -> bool,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let entry = directory::entry(slot)?;
    let guard = Guard::of(slot)?;
    let owner = entry.owner();
    if !is_meant(owner) {
        return Ok(None);
    }
    let mut locked = match open(slot) {
        Ok(locked) => locked,
        Err(refused) => {
            entry.has_missed_changes.store(true, Ordering::Release);
            return Err(refused);
        }
    };
    let is_dirty = std::mem::replace(&mut locked.state.dirty, true);
    let has_missed_changes = entry.has_missed_changes.swap(false, Ordering::AcqRel);
    if is_dirty | has_missed_changes {
        locked.distrust();
    }
    if has_missed_changes {
        locked.state.recurring.look_at(server::now());
    }
    locked.make_room(1);
    #[cfg(feature = "fault_injection")]
    turnstile_scheduler::testing::injection::arm(settings::panic_at());
    let outcome = steps(&mut locked);
    if outcome.is_err() {
        locked.distrust();
    }
    let outcome = match locked.wake_at_unlock() {
        Ok(()) => outcome,
        Err(fault) => Err(fault),
    };
    locked.call_patrol();
    let is_closed = entry.owner().1 == pg_sys::InvalidOid && entry.owner() != owner;
    let outcome = match outcome {
        Ok(result) if is_closed => locked.start_anew().map(|()| result),
        outcome => outcome,
    };
    if outcome.is_ok() {
        locked.state.dirty = false;
    }
    locked.tell_sizes();
    let calls = std::mem::take(&mut locked.calls);
    drop(guard);
    latches::ring(&calls);
    outcome.map(Some).map_err(failure)
}

fn failure(fault: Fault) -> Failure {
    match fault {
        Fault::Full => no_room("the limits of the running jobs"),
        Fault::Corrupt(what) => internal(format!("the scheduler's memory is damaged: {what}"))
            .hint("The next call rebuilds it from the tables; please report this."),
    }
}
