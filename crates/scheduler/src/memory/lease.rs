//! Runs whose lease ends some time: what is stored of each. See `due::leases`.

use crate::memory::slab::{chained_slot, mix};
use crate::memory::step::NONE;

/// What a job with this id runs as for the time of this attempt. No two runs have both in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    pub job: i64,
    pub attempt: i32,
}

impl RunId {
    pub(crate) fn key(&self) -> u64 {
        mix(
            self.job.cast_unsigned(),
            u64::from(self.attempt.cast_unsigned()),
        )
    }
}

/// It is in the heap of its queue, which is threaded through the slots.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lease {
    pub(crate) job: i64,
    /// When the run is to be looked at.
    pub(crate) time: i64,
    pub(crate) attempt: i32,
    /// The slot of its queue; none: the slot is free.
    pub(crate) queue: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) up: u32,
    pub(crate) next: u32,
    /// As those of `tree::heap`.
    pub(crate) distance: u8,
    pub(crate) left_distance: u8,
    /// It was noted since a search took it.
    pub(crate) is_noted: bool,
}

const _: () = assert!(size_of::<Lease>() <= 48);

impl Lease {
    pub(crate) fn run(&self) -> RunId {
        RunId {
            job: self.job,
            attempt: self.attempt,
        }
    }
}

chained_slot!(Lease, live: |lease| lease.queue != NONE, key: |lease| Some(lease.run().key()));

#[cfg(feature = "damage")]
impl Lease {
    pub(crate) fn damage(&mut self, field: u8, value: u64) {
        match field % 11 {
            0 => self.job = value.cast_signed(),
            1 => self.time = value.cast_signed(),
            2 => self.attempt = value as i32,
            3 => self.queue = value as u32,
            4 => self.left = value as u32,
            5 => self.right = value as u32,
            6 => self.up = value as u32,
            7 => self.distance = value as u8,
            8 => self.left_distance = value as u8,
            9 => self.is_noted = value.is_multiple_of(2),
            _ => self.next = value as u32,
        }
    }
}
