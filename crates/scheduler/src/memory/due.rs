//! Queues whose jobs fall due or whose leases end: what is stored of each. See `due::times`.

use crate::memory::slab::keyed_slot;
use crate::memory::step::NONE;
use crate::times::NEVER;

/// What is known of a queue with jobs that were put off, or with leases.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DueQueue {
    pub(crate) key: u64,
    /// No job of the queue that was put off comes before this (`run_at`, position).
    pub(crate) due_floor: [i64; 2],
    /// When a claim must promote.
    pub(crate) next_due: i64,
    /// When the first of its leases is due.
    pub(crate) next_lease: i64,
    /// The first of its leases, and that which came last.
    pub(crate) leases: u32,
    pub(crate) last_lease: u32,
    /// Processes that have taken a floor and not put it back yet.
    pub(crate) promotions: u32,
    /// Its place in the order of times.
    pub(crate) place: u32,
    pub(crate) next: u32,
}

impl Default for DueQueue {
    fn default() -> Self {
        Self {
            key: 0,
            due_floor: [NEVER; 2],
            next_due: NEVER,
            next_lease: NEVER,
            leases: NONE,
            last_lease: NONE,
            promotions: 0,
            place: 0,
            next: 0,
        }
    }
}

impl DueQueue {
    pub(crate) fn time(&self) -> i64 {
        self.next_due.min(self.next_lease)
    }

    /// Nothing is known of the queue, and no process will put anything back.
    pub(crate) fn is_idle(&self) -> bool {
        self.time() == NEVER
            && self.due_floor == [NEVER; 2]
            && self.leases == NONE
            && self.promotions == 0
    }
}

keyed_slot!(DueQueue);

/// What is stored once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DueState {
    /// Queues in the order of times.
    pub count: u32,
    /// Some queue without a slot has jobs that were put off.
    pub has_others: bool,
    /// When the first of them falls due.
    pub others: i64,
    /// Some lease has no entry.
    pub has_leases_outside: bool,
    /// When the first of them ends.
    pub leases_outside: i64,
}

#[cfg(feature = "damage")]
impl DueQueue {
    pub(crate) fn damage(&mut self, field: u8, value: u64) {
        match field % 10 {
            0 => self.key = value,
            1 => self.due_floor = [value.cast_signed(), self.due_floor[1]],
            2 => self.due_floor = [self.due_floor[0], value.cast_signed()],
            3 => self.next_due = value.cast_signed(),
            4 => self.leases = value as u32,
            5 => self.next_lease = value.cast_signed(),
            6 => self.promotions = value as u32,
            7 => self.last_lease = value as u32,
            8 => self.place = value as u32,
            _ => self.next = value as u32,
        }
    }
}
