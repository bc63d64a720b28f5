//! Statistics of a queue or a tenant since they were last reset.

use super::change::{Change, EVENTS};
use super::histogram::Histogram;
use crate::memory::slab::chained_slot;
use crate::memory::step::NONE;

/// Queues that have statistics at most, and as many tenants.
pub const MOST_STATS: u32 = 1_000;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    next: u32,
    /// The name that has them; NONE: a free slot.
    pub(super) name: u32,
    pub(super) events: [u64; EVENTS],
    pub(super) waited: Histogram,
    pub(super) ran: Histogram,
    pub(super) waited_in_all: Histogram,
}

chained_slot!(Stats, live: |stats| stats.name != NONE, key: |_| None);

impl Stats {
    pub(super) fn given_to(self, name: u32) -> Self {
        Self { name, ..self }
    }

    pub(super) fn note(&mut self, change: &Change) {
        for (count, more) in self.events.iter_mut().zip(change.events) {
            *count += u64::from(more);
        }
        let times = [
            (&mut self.waited, &change.waited),
            (&mut self.ran, &change.ran),
            (&mut self.waited_in_all, &change.waited_in_all),
        ];
        for (histogram, times) in times {
            times.iter().for_each(|&time| histogram.note(time));
        }
    }
}
