//! A count of the tables. It begins under the lock, where its snapshot is taken, and is filled in by batches. A
//! transaction that commits meanwhile, and that the snapshot did not see, adds what it has changed.

use super::{Backlog, Books, Entry, KINDS};
use crate::shmem::Phase;
use turnstile_scheduler::GateKind;

/// The committed jobs of each name that is counted.
pub struct Numbers {
    /// Kinds of which a missing name has no jobs.
    pub counts_all: Vec<GateKind>,
    pub committed: Vec<((GateKind, u64), i64)>,
    /// What open transactions have added.
    pub charged: i64,
}

impl Backlog<'_> {
    /// Begins the count that is needed: of these names, of all names of some kinds, with a snapshot taken under this
    /// lock.
    pub fn begin_count(
        &mut self,
        listed: &[(GateKind, u64)],
        counts_all: [bool; 2],
        (xmax, running): (u64, Vec<u32>),
    ) -> u64 {
        let entries = std::mem::take(&mut self.books.used);
        let kept: Vec<Entry> = match entries {
            0 => Vec::new(),
            _ => self
                .entries
                .iter()
                .filter(|old| old.charged > 0)
                .copied()
                .collect(),
        };
        if entries > 0 {
            self.entries.fill(Entry::default());
        }
        let mut count = 0;
        for (slot, id) in self.running.iter_mut().zip(running) {
            *slot = id;
            count += 1;
        }
        *self.books = Books {
            phase: Phase::Rebuilding,
            generation: self.books.generation + 1,
            counts_all,
            xmax,
            running: count,
            ..Books::default()
        };
        for old in kept {
            if let Some(entry) = old.kind().and_then(|kind| self.find_or_add(kind, old.key)) {
                entry.charged = old.charged;
            }
        }
        for &(kind, key) in listed {
            match self.find_or_add(kind, key) {
                Some(entry) => entry.is_listed = true,
                None => self.note_overflow(kind),
            }
        }
        self.books.generation
    }

    /// Adds what was counted; false if the count is no longer valid.
    pub fn count(&mut self, generation: u64, jobs: &[(GateKind, u64, i64)]) -> bool {
        if !self.is_counted_by(generation) {
            return false;
        }
        for &(kind, key, jobs) in jobs {
            self.add(kind, key, jobs);
        }
        true
    }

    pub fn end_count(&mut self, generation: u64) {
        if self.is_counted_by(generation) {
            self.books.phase = Phase::Ready;
        }
    }

    /// The backend that counted has stopped.
    pub fn give_up_count(&mut self, generation: u64) {
        if self.is_counted_by(generation) {
            self.distrust();
        }
    }

    fn is_counted_by(&self, generation: u64) -> bool {
        self.books.phase == Phase::Rebuilding && self.books.generation == generation
    }

    /// Ends the trust in the numbers; returns whether they were trusted.
    pub fn forget_count(&mut self) -> bool {
        let was_counted = self.books.phase == Phase::Ready;
        if was_counted {
            self.distrust();
        }
        was_counted
    }

    /// Whether a claim has to count, since the producers that came could not.
    pub fn wants_count(&self) -> bool {
        self.books.is_wanted && self.needs_count()
    }

    pub fn needs_count(&self) -> bool {
        self.books.phase != Phase::Rebuilding
    }

    /// For `check()`: the names that are counted, and of which kinds all are; none if the numbers are not trusted.
    pub fn numbers(&self) -> Option<Numbers> {
        let is_counted = |entry: &&Entry| entry.key != 0;
        (self.books.phase == Phase::Ready).then(|| Numbers {
            counts_all: KINDS
                .into_iter()
                .filter(|&kind| self.counts_all(kind) && !self.overflows(kind))
                .collect(),
            charged: self
                .entries
                .iter()
                .map(|entry| i64::from(entry.charged))
                .sum(),
            committed: self
                .entries
                .iter()
                .filter(is_counted)
                .filter_map(|entry| {
                    let kind = entry.kind()?;
                    let is_counted = entry.is_listed || self.counts_all(kind);
                    is_counted.then_some(((kind, entry.key), entry.committed))
                })
                .collect(),
        })
    }
}
