//! Shared memory: one scheduler per database, each behind an LWLock. The only pointer casts.

mod backlog;
pub mod latches;
mod leases;
mod notifier;
mod owners;
mod segment;
mod set_aside;
pub mod sleeper;
mod slot;
mod wakeups;

use crate::pg::error::{Failure, Result, does_not_fit, internal};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
#[cfg(feature = "fault_injection")]
use crate::pg::settings;
use pgrx::pg_sys;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use turnstile_scheduler::waiting::Channels;
use turnstile_scheduler::waiting::Waiting;
use turnstile_scheduler::{Fault, LaneSpec, ReservationId, Scheduler, Step};

use backlog::Backlog;
pub use backlog::{Admission, Bound, KINDS, Numbers};
pub use leases::{Leases, Search, Straggler};
pub use notifier::{Owed, begin_notifier, end_notifier, note_sent, slots, take_owed};
pub use owners::{Gone, GoneOwners, Owner};
pub use segment::install_hooks;
use segment::{Guard, open};
use set_aside::SetAside;
use slot::{assign_slot, cached_slot, my_database};

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

/// What a database's slot holds besides the scheduler.
#[repr(C)]
#[derive(Debug, Default)]
pub struct DatabaseState {
    database: pg_sys::Oid,
    /// The OID of `turnstile.job`: a new one after `DROP EXTENSION` and `CREATE EXTENSION`.
    job_table: pg_sys::Oid,
    pub phase: Phase,
    /// Set while a step is under way. If it is found set, the step was cut short.
    dirty: bool,
    /// The rebuild that the memory comes from.
    pub generation: u64,
    /// No job waits for a time before this one (microseconds of PostgreSQL's epoch).
    pub next_due: i64,
    /// No job that was put off comes before this (run_at, position), so that a promotion need not walk what others
    /// promoted before it, even if a million jobs fall due at one instant.
    pub due_floor: [i64; 2],
    pub leases: Leases,
    pub gone: GoneOwners,
    /// When a claim last checked how far positions have been drawn.
    pub sequence_seen_at: i64,
    set_aside: SetAside,
    /// Claims since lanes were loaded.
    pub claims_in_overflow: u32,
    /// Transactions from here on, and the listed ones, were not visible to the last rebuild.
    pub rebuild_xmax: u64,
    pub rebuild_running: u32,
    /// Changes whenever routes or settings of queues do; read without the lock.
    routes_version: AtomicU64,
    /// Changes whenever bounds of backlogs do; read without the lock.
    bounds_version: AtomicU64,
}

/// One database's memory, while its lock is held.
pub struct Locked<'m> {
    pub state: &'m mut DatabaseState,
    pub scheduler: Scheduler<'m>,
    /// Top-level transactions that ran when the last rebuild took its snapshot.
    pub running_at_rebuild: &'m mut [u32],
    pub waiting: Waiting<'m>,
    pub channels: &'m mut Channels,
    pub backlog: Backlog<'m>,
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
        self.state.routes_version.fetch_add(1, Ordering::Release);
        if !armed(Seeded::KeepReadSettings) {
            self.channels.forget_settings();
        }
    }

    /// Bounds of backlogs have changed.
    pub fn draw_bounds_version(&mut self) {
        self.state.bounds_version.fetch_add(1, Ordering::Release);
    }

    /// Marks the whole memory as not to be trusted.
    fn distrust(&mut self) {
        self.state.phase = Phase::Stale;
        self.backlog.distrust();
    }

    /// A job was put off until then.
    pub fn note_due(&mut self, time: Option<i64>) {
        if let Some(time) = time {
            self.state.next_due = self.state.next_due.min(time);
            self.state.due_floor = self.state.due_floor.min([time, i64::MIN]);
        }
    }

    /// A run has a lease that ends then.
    pub fn note_lease(&mut self, time: Option<i64>) {
        if let Some(time) = time {
            self.state.leases.note(time);
        }
    }
}

fn slot(job_table: pg_sys::Oid) -> Result<usize> {
    match cached_slot(job_table) {
        Some(slot) => Ok(slot),
        None => assign_slot(job_table),
    }
}

/// Drawn anew by each commit that changes routes or settings of queues, once its rows are visible. What is read after
/// this call is right for as long as the call returns the same.
pub fn routes_version(job_table: pg_sys::Oid) -> Result<u64> {
    slot(job_table).map(segment::routes_version)
}

/// As [`routes_version`], of the bounds of backlogs.
pub fn bounds_version(job_table: pg_sys::Oid) -> Result<u64> {
    slot(job_table).map(segment::bounds_version)
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

/// As [`with`], for commit and abort callbacks: without a slot there is nothing to keep right.
pub fn with_existing<R>(
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    match cached_slot(job_table) {
        Some(slot) => run(slot, job_table, steps),
        None => match slot::existing_slot()? {
            Some(slot) => run(slot, job_table, steps),
            None => Ok(None),
        },
    }
}

/// None if the slot belongs to another extension by now.
fn run<R>(
    slot: usize,
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let is_own =
        |state: &DatabaseState| state.job_table == job_table && state.database == my_database();
    enter(
        slot,
        |state| is_own(state) || armed(Seeded::UseForeignSlot),
        steps,
    )
}

/// None if the slot is not the one that was meant. If a step fails or panics, the memory stays marked dirty and the
/// next use rebuilds it.
#[allow(unsafe_code, reason = "opens memory that is locked")]
fn enter<R>(
    slot: usize,
    is_meant: impl FnOnce(&DatabaseState) -> bool,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let guard = Guard::acquire(slot + 1)?;
    // SAFETY: the slot's lock is held until the guard is dropped.
    let mut locked = unsafe { open(slot) };
    if !is_meant(locked.state) {
        return Ok(None);
    }
    if std::mem::replace(&mut locked.state.dirty, true) {
        locked.distrust();
    }
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
    if outcome.is_ok() {
        locked.state.dirty = false;
    }
    let calls = std::mem::take(&mut locked.calls);
    drop(guard);
    latches::ring(&calls);
    outcome.map(Some).map_err(failure)
}

fn failure(fault: Fault) -> Failure {
    match fault {
        Fault::Full => does_not_fit(
            "the limits of the running jobs",
            "Raise turnstile.max_lanes and restart the server, or finish jobs.",
        ),
        Fault::Corrupt(what) => internal(format!("the scheduler's memory is damaged: {what}"))
            .hint("The next call rebuilds it from the tables; please report this."),
    }
}
