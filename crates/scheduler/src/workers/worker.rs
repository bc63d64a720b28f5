//! One worker.

use super::name::Name;
use super::sighting::Sighting;
use crate::memory::longest::LONGEST_NAME;
use crate::memory::slab::keyed_slot;
use crate::memory::step::NONE;

/// Bytes of a worker's name that are kept, and of a queue's.
pub const WORKER_NAME: usize = 127;
pub const QUEUE_NAME: usize = LONGEST_NAME;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Worker {
    /// 0: a free slot.
    pub(super) key: u64,
    next: u32,
    /// The one that was seen after it; NONE: it is the one seen last.
    pub(super) newer: u32,
    pub(super) older: u32,
    has_name: bool,
    queue: u64,
    first_seen: i64,
    last_seen: i64,
    claims: u64,
    jobs: u64,
    name: Name<WORKER_NAME>,
    queue_name: Name<QUEUE_NAME>,
}

/// A worker, for who wants to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerView {
    /// None: those that have not said how they are called.
    pub name: Option<Box<[u8]>>,
    pub queue: u64,
    /// Empty if it was not known to who claimed.
    pub queue_name: Box<[u8]>,
    pub first_seen: i64,
    pub last_seen: i64,
    pub claims: u64,
    pub jobs: u64,
}

keyed_slot!(Worker);

impl Worker {
    pub(super) fn new(sighting: &Sighting) -> Self {
        let mut worker = Self {
            key: sighting.key,
            newer: NONE,
            older: NONE,
            has_name: sighting.name.is_some(),
            first_seen: sighting.now,
            last_seen: sighting.now,
            ..Self::default()
        };
        worker.name.set(sighting.name.unwrap_or_default());
        worker
    }

    pub(super) fn note(
        &mut self,
        sighting: &Sighting,
        name_queue: impl FnOnce(&mut Name<QUEUE_NAME>),
    ) {
        if self.queue != sighting.queue || self.queue_name.is_empty() {
            self.queue = sighting.queue;
            self.queue_name.set(&[]);
            name_queue(&mut self.queue_name);
        }
        self.last_seen = self.last_seen.max(sighting.now);
        self.claims = self.claims.saturating_add(sighting.claims);
        self.jobs = self.jobs.saturating_add(sighting.jobs);
    }

    pub(super) fn view(&self) -> WorkerView {
        WorkerView {
            name: self.has_name.then(|| self.name.get().into()),
            queue: self.queue,
            queue_name: self.queue_name.get().into(),
            first_seen: self.first_seen,
            last_seen: self.last_seen,
            claims: self.claims,
            jobs: self.jobs,
        }
    }
}
