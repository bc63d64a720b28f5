//! What grows by itself in a window.

use turnstile_scheduler::Array;
use turnstile_scheduler::figures::FigureArray;
use turnstile_scheduler::workers::{WORKER_SLOTS, worker_buckets};

/// What grows by itself: an array of the scheduler, of the figures or of workers, with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    Of(Array),
    OfFigures(FigureArray),
    Workers,
}

/// How many pools there are.
pub(super) const POOLS: usize = Array::ALL.len() + FigureArray::ALL.len() + 1;

impl Pool {
    pub(super) fn nth(self) -> usize {
        match self {
            Pool::Of(array) => array as usize,
            Pool::OfFigures(array) => Array::ALL.len() + array as usize,
            Pool::Workers => POOLS - 1,
        }
    }

    pub(super) fn buckets(self, slots: usize) -> usize {
        match self {
            Pool::Of(array) => array.buckets(slots),
            Pool::OfFigures(array) => array.buckets(slots),
            Pool::Workers => worker_buckets(slots),
        }
    }

    /// The most slots that it can have, if the window has addresses for so many.
    pub(super) fn most(self, in_window: usize) -> usize {
        match self {
            Pool::Of(_) => in_window,
            Pool::OfFigures(array) => array.most().min(in_window),
            Pool::Workers => WORKER_SLOTS.min(in_window),
        }
    }
}

/// How many slots each pool has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sizes([u32; POOLS]);

impl Sizes {
    pub fn of(&self, pool: Pool) -> usize {
        self.of_nth(pool.nth())
    }

    pub(super) fn of_nth(&self, nth: usize) -> usize {
        self.0.get(nth).map_or(0, |&size| size as usize)
    }

    pub fn set(&mut self, pool: Pool, slots: usize) {
        if let Some(size) = self.0.get_mut(pool.nth()) {
            *size = u32::try_from(slots).unwrap_or(u32::MAX);
        }
    }
}
