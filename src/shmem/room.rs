//! How the memory of a database grows and shrinks, while its lock is held.
//!
//! What is asked for is zero and where its array goes on, so growing is a system call and a longer slice. Where the limit
//! or the system says no, the arrays stay full, and lanes are left to the tables.

#![allow(unsafe_code, reason = "points into shared memory")]

use super::arrays::{figures_memory, memory};
use super::directory::Entry;
use super::growth::Growth;
use super::locked::Locked;
use super::pools::Pool;
use super::state::{DatabaseState, Phase};
use crate::pg::server;
use std::sync::atomic::{AtomicU32, Ordering};
use turnstile_scheduler::figures::{Demand, FigureArray, Figures};
use turnstile_scheduler::{Array, Capacity, GateKind, Step};

/// Slots that a pool gets at least, and at most, when it grows; between them an eighth of what it has. The most take the
/// system a few tenths of a millisecond.
const LEAST_STEP: usize = 64;
const MOST_STEP: usize = 16_384;
/// How long a refusal of the system is believed.
const REFUSED_FOR: i64 = server::SECOND;
/// Gates that nothing uses are kept as long as they are no more than this: to read their settings again takes a statement.
const IDLE_GATES: usize = 16_384;
/// A pool is shrunk where fewer than one in so many of its slots are in use.
const MOSTLY_EMPTY: usize = 4;

/// Slots that a pool begins with, whatever the limit.
const fn first_step(pool: Pool) -> usize {
    match pool {
        Pool::Of(Array::Nodes) => 3 * LEAST_STEP,
        Pool::Of(_) | Pool::OfFigures(_) | Pool::Workers => LEAST_STEP,
    }
}

impl<'m> Locked<'m> {
    /// Sees to it, as far as memory is to be had, that a lane more can be made, whatever gates it has, a lease more watched, and so
    /// many reservations made.
    pub fn make_room(&mut self, reservations: usize) {
        self.make_room_for(&Capacity {
            lanes: 1,
            meters: GateKind::ALL.len(),
            shares: 2,
            reservations,
            due: 1,
            leases: 1,
            ..Capacity::default()
        });
    }

    /// As [`Locked::make_room`], for so many lanes.
    pub fn make_room_for_lanes(&mut self, lanes: usize) {
        self.make_room_for(&Capacity {
            lanes,
            ..Capacity::default()
        });
    }

    fn make_room_for(&mut self, demand: &Capacity) {
        let missing = self.scheduler.shortage(demand);
        let mut has_grown = self.spares_idle_gates() && self.grow(Pool::Of(Array::Gates), 1);
        for array in Array::ALL {
            let least = missing.of(array);
            has_grown |= least > 0 && self.grow(Pool::Of(array), least);
        }
        if has_grown {
            self.reopen();
        }
    }

    /// Whether the next lane would take the slot of a gate that nothing uses, although there is memory for another.
    fn spares_idle_gates(&self) -> bool {
        self.scheduler.unused_gates() < GateKind::ALL.len()
            && self.scheduler.idle_gates() < IDLE_GATES
            && self.growth.is_within_limit()
    }

    /// Lets a pool have at least so many slots more; false if it cannot.
    fn grow(&mut self, pool: Pool, least: usize) -> bool {
        let has = self.state.sizes.of(pool);
        let step = match has {
            0 => first_step(pool),
            has => (has / 8).clamp(LEAST_STEP, MOST_STEP),
        };
        let step = step.max(least);
        let wanted = has.saturating_add(step).min(self.growth.layout.most(pool));
        wanted >= has.saturating_add(least) && self.resize(pool, wanted)
    }

    /// Lets a pool have more slots than it has; false if it cannot.
    pub(super) fn resize(&mut self, pool: Pool, wanted: usize) -> bool {
        let has = self.state.sizes.of(pool);
        let Growth { layout, .. } = self.growth;
        let parts = || layout.between(pool, has, wanted);
        let bytes = parts()
            .map(|part| part.end.saturating_sub(part.start))
            .sum();
        let now = server::now();
        // Limits rest on what is held: it finds room as long as the system has some. So does what a database begins with.
        let is_held = matches!(pool, Pool::Of(Array::Gates | Array::Reservations));
        let is_vital = is_held || wanted <= first_step(pool);
        let is_refused = self.state.refused_at.saturating_add(REFUSED_FOR) > now;
        if is_refused || !self.growth.charge(bytes, is_vital) {
            self.note_lack();
            return false;
        }
        if !parts().all(|part| self.growth.back(&part)) {
            self.growth.discharge(bytes);
            self.state.refused_at = now;
            self.note_lack();
            return false;
        }
        self.state.sizes.set(pool, wanted);
        true
    }

    /// Something has found no room: the notifier tells the log.
    fn note_lack(&mut self) {
        if !self.growth.entry.lacks_memory.swap(true, Ordering::AcqRel) {
            self.calls.extend(self.channels.notifier());
        }
    }

    /// Leaves a pool so many slots, and gives back what is behind them.
    pub(super) fn cut(&mut self, pool: Pool, kept: usize) {
        let has = self.state.sizes.of(pool);
        let kept = kept.min(has);
        let Growth {
            layout,
            start,
            window,
            anchor,
            ..
        } = self.growth;
        for part in layout.between(pool, kept, has) {
            // SAFETY: under the lock the window is this process's alone, and nothing is left in the part.
            unsafe { anchor.shape.give_back(window, start, &part) };
            self.growth.discharge(part.end.saturating_sub(part.start));
        }
        self.state.sizes.set(pool, kept);
    }

    /// Gives back what is behind the last slot in use of each array. Those that are mostly empty are made smaller first.
    pub fn shrink(&mut self) -> Step<()> {
        let capacity = self.scheduler.capacity();
        let free = self.scheduler.free_slots();
        for array in Array::ALL {
            let (slots, free) = (capacity.of(array), free.of(array));
            let is_mostly_empty = slots.saturating_sub(free) < slots / MOSTLY_EMPTY;
            let least = match array {
                Array::Gates if self.scheduler.idle_gates() > 0 => IDLE_GATES,
                _ => LEAST_STEP,
            };
            if is_mostly_empty && slots > least {
                let needed = self.scheduler.trim(array)?;
                self.cut(Pool::Of(array), needed.saturating_add(LEAST_STEP));
            }
        }
        for array in FigureArray::ALL {
            match self.figures.trim(array) {
                Ok(needed) => self.cut(Pool::OfFigures(array), needed.saturating_add(LEAST_STEP)),
                // Claims do not rest on them.
                Err(_) => self.figures.forget_everything(),
            }
        }
        if self.workers().is_empty() {
            self.cut(Pool::Workers, 0);
        }
        self.reopen();
        Ok(())
    }

    /// Called from time to time: gives back what is not needed.
    pub(super) fn tidy(&mut self) -> Step<()> {
        match self.state.phase {
            Phase::Ready => self.shrink(),
            Phase::Stale | Phase::Rebuilding => Ok(()),
        }
    }

    /// The jobs are gone, and so are the transactions that have changed some. Processes that sleep for them are sent away.
    pub(super) fn start_anew(&mut self) -> Step<()> {
        self.scheduler.forget_everything();
        self.figures.forget_everything();
        self.workers().forget_everything();
        let calls = &mut self.calls;
        self.waiting.release_all(|who| calls.push(who));
        *self.state = DatabaseState {
            sizes: self.state.sizes,
            generation: self.state.generation + 1,
            ..DatabaseState::default()
        };
        self.shrink()
    }

    /// Tells how large the memory is, for those who want to see it without the lock.
    pub(super) fn tell_sizes(&self) {
        let (capacity, free) = (self.scheduler.capacity(), self.scheduler.free_slots());
        let tell = |place: &AtomicU32, slots: usize, free: usize| {
            // Slot 0 is never in use.
            let used = slots.saturating_sub(free).saturating_sub(1);
            place.store(u32::try_from(used).unwrap_or(u32::MAX), Ordering::Relaxed);
        };
        let Entry {
            lanes,
            gates,
            lanes_outside,
            ..
        } = self.growth.entry;
        lanes_outside.store(self.scheduler.lanes_outside(), Ordering::Relaxed);
        tell(lanes, capacity.lanes, free.lanes);
        tell(gates, capacity.gates, free.gates);
    }

    /// The arrays have other sizes than when they were opened.
    fn reopen(&mut self) {
        let Growth { layout, start, .. } = self.growth;
        // SAFETY: the lock is held as long as `self` lives, and what borrowed the arrays before is replaced.
        let (memory, figures) = unsafe {
            (
                memory(layout, start, &self.state.sizes),
                figures_memory(layout, start, &self.state.sizes),
            )
        };
        self.scheduler.reopen(memory);
        self.figures = Figures::new(figures);
    }

    /// Where names have found no room, and there is some by now, they are counted anew.
    pub fn make_up_for_overflow(&mut self) {
        let lack = self.figures.lack();
        self.make_room_for_figures(&lack);
        self.figures.make_up_for_overflow();
    }

    /// Sees to it, as far as memory is to be had, that what is demanded can be counted.
    pub fn make_room_for_figures(&mut self, demand: &Demand) {
        let mut has_grown = false;
        for array in FigureArray::ALL {
            let missing = demand.slots(array).saturating_sub(self.figures.left(array));
            has_grown |= missing > 0 && self.grow(Pool::OfFigures(array), missing);
        }
        if has_grown {
            self.reopen();
        }
    }

    /// Lets one worker more be known; false if there is no memory.
    pub fn make_room_for_worker(&mut self) -> bool {
        self.grow(Pool::Workers, 1)
    }
}
