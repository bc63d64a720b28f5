//! The memory of a database, while its lock is held.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::growth::Growth;
use super::state::{DatabaseState, Phase};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use turnstile_scheduler::figures::Figures;
use turnstile_scheduler::waiting::{Channels, Waiting};
use turnstile_scheduler::workers::{Workers, WorkersMemory};
use turnstile_scheduler::{Fault, LaneSpec, ReservationId, Scheduler, Step};

/// One database's memory, while its lock is held.
pub struct Locked<'m> {
    pub state: &'m mut DatabaseState,
    pub scheduler: Scheduler<'m>,
    /// Top-level transactions that ran when the last rebuild took its snapshot.
    pub running_at_rebuild: &'m mut [u32],
    pub waiting: Waiting<'m>,
    pub channels: &'m mut Channels,
    pub figures: Figures<'m>,
    pub(super) growth: Growth,
    /// How many more jobs there are to claim, by queue.
    pub(super) work: Vec<(u64, u32)>,
    /// The processes to wake when the lock is released.
    pub(super) calls: Vec<u32>,
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
    pub(super) fn distrust(&mut self) {
        self.state.phase = Phase::Stale;
        self.figures.distrust();
        self.workers().forget_everything();
        // Changes of these may be among what was missed.
        self.draw_routes_version();
        self.draw_bounds_version();
    }

    /// Opened where it is used: few calls do.
    pub fn workers(&mut self) -> Workers<'_> {
        let Growth { layout, start, .. } = self.growth;
        let sizes = &self.state.sizes;
        // SAFETY: the lock is held as long as `self` lives, which has nothing else of these parts.
        unsafe {
            Workers::new(WorkersMemory {
                header: layout.worker_list.get(start),
                workers: layout.workers.slice(start, sizes),
                buckets: layout.worker_buckets.slice(start, sizes),
            })
        }
    }
}
