//! How many jobs wait, by name, for the queues and tenants whose backlog has a bound.
//!
//! For each such name, `committed` is what the tables say, and `charged` is what open transactions have added. A job
//! is charged when a transaction adds it, and no bound lets `committed + charged` exceed it; the charge becomes part
//! of `committed` when the transaction commits. What a transaction takes away counts from its commit on. So no
//! enqueue takes the committed jobs past a bound, and an abort only gives its charges back.
//!
//! The numbers are trusted from a count of the tables until something spoils them. Charges are always right.

mod count;
pub mod names;

use super::Phase;
use crate::pg::seeded::{Seeded, armed};
use turnstile_scheduler::GateKind;

pub use count::Numbers;

/// What has a bound.
pub const KINDS: [GateKind; 2] = [GateKind::Queue, GateKind::Tenant];

/// One name.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// The key of its gate; 0: a free slot.
    key: u64,
    /// Below zero while a count is under way that has not yet reached jobs that are gone by now.
    committed: i64,
    charged: u32,
    kind: u8,
    /// It had a bound of its own when the count began.
    is_listed: bool,
}

impl Entry {
    fn kind(&self) -> Option<GateKind> {
        KINDS.into_iter().find(|&kind| kind as u8 == self.kind)
    }
}

/// What is not in the table of names; all zero is an empty one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Books {
    /// Whether the numbers can be trusted; `Rebuilding` while a backend counts.
    phase: Phase,
    /// The count that they come from.
    generation: u64,
    used: u32,
    /// By kind: all names are counted, because names without a row have a bound.
    counts_all: [bool; 2],
    /// By kind: some names that should be counted did not fit.
    overflows: [bool; 2],
    /// Transactions from here on, and the listed ones, were not visible to the count.
    xmax: u64,
    running: u32,
    /// A job was admitted past a bound because its producer could not count.
    is_wanted: bool,
}

/// A bound, and the name that it applies to.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub kind: GateKind,
    pub key: u64,
    pub most: u32,
}

/// The decision about a job that is to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It has its places. For each bound: whether it is charged, and how many jobs there are now, if that is known.
    Admitted {
        charged: [bool; 2],
        waiting: [Option<i64>; 2],
    },
    /// The name of this bound already has this many jobs.
    Full { bound: usize, waiting: i64 },
    /// The backlogs must be counted first.
    Uncounted,
    /// Another backend counts them.
    BeingCounted,
}

/// What a producer can do where the backlogs are not counted. Where it can do nothing it is admitted.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    pub count: bool,
    pub wait: bool,
}

pub struct Backlog<'m> {
    pub(super) books: &'m mut Books,
    /// Linear probing; the length is a power of two.
    pub(super) entries: &'m mut [Entry],
    /// Top-level transactions that ran when the count took its snapshot.
    pub(super) running: &'m mut [u32],
}

const fn index(kind: GateKind) -> usize {
    match kind {
        GateKind::Queue => 0,
        _ => 1,
    }
}

impl Backlog<'_> {
    fn counts_all(&self, kind: GateKind) -> bool {
        self.books
            .counts_all
            .get(index(kind))
            .is_some_and(|&all| all)
    }

    fn overflows(&self, kind: GateKind) -> bool {
        let overflows = self.books.overflows.get(index(kind));
        overflows.is_some_and(|&overflows| overflows)
    }

    fn note_overflow(&mut self, kind: GateKind) {
        if let Some(overflows) = self.books.overflows.get_mut(index(kind)) {
            *overflows = true;
        }
    }

    /// The entry of a name. Once a name did not fit, no new entry is begun: its earlier jobs would be missing.
    fn entry(&mut self, kind: GateKind, key: u64) -> Option<&mut Entry> {
        match self.overflows(kind) {
            true => self.find(kind, key),
            false => self.find_or_add(kind, key),
        }
    }

    /// The jobs of a name; none if they have not been counted.
    fn waiting(&mut self, kind: GateKind, key: u64) -> Option<i64> {
        let counts_all = self.counts_all(kind);
        match self.find(kind, key) {
            Some(entry) if entry.is_listed || counts_all => {
                let charged = match armed(Seeded::ChargeAtCommit) {
                    true => 0,
                    false => i64::from(entry.charged),
                };
                Some(entry.committed.saturating_add(charged))
            }
            Some(_) => None,
            None => (counts_all && !self.overflows(kind)).then_some(0),
        }
    }

    /// Takes a place behind each bound, or none.
    pub fn admit(&mut self, bounds: &[Bound], means: Means) -> Admission {
        let mut waiting = [None; 2];
        for (nth, bound) in bounds.iter().enumerate() {
            let fits = !self.overflows(bound.kind);
            // A count that is under way has found at most so many.
            let jobs = match self.books.phase {
                Phase::Ready | Phase::Rebuilding => self.waiting(bound.kind, bound.key),
                Phase::Stale => None,
            };
            match (self.books.phase, jobs) {
                (_, Some(jobs)) if jobs >= i64::from(bound.most) => {
                    return Admission::Full {
                        bound: nth,
                        waiting: jobs,
                    };
                }
                (Phase::Ready, Some(jobs)) => {
                    if let Some(place) = waiting.get_mut(nth) {
                        *place = Some(jobs + 1);
                    }
                }
                (Phase::Ready, None) if !fits => {}
                (Phase::Rebuilding, _) if means.wait => return Admission::BeingCounted,
                (Phase::Rebuilding, _) => {}
                (Phase::Ready | Phase::Stale, _) if means.count => return Admission::Uncounted,
                (Phase::Ready | Phase::Stale, _) => self.books.is_wanted = true,
            }
        }
        let mut charged = [false; 2];
        for (bound, charged) in bounds.iter().zip(&mut charged) {
            let entry = self.entry(bound.kind, bound.key);
            *charged = entry.is_some();
            match entry {
                Some(entry) => entry.charged = entry.charged.saturating_add(1),
                None => self.note_overflow(bound.kind),
            }
        }
        Admission::Admitted { charged, waiting }
    }

    /// A transaction that was charged for this many jobs has ended.
    pub fn discharge(&mut self, kind: GateKind, key: u64, jobs: u32) {
        if let Some(entry) = self.find(kind, key) {
            entry.charged = entry.charged.saturating_sub(jobs);
        }
        self.tidy(kind, key);
    }

    /// This many more jobs are committed; a negative number takes away.
    fn add(&mut self, kind: GateKind, key: u64, jobs: i64) {
        if key == 0 || jobs == 0 {
            return;
        }
        let counts_all = self.counts_all(kind);
        let entry = match counts_all {
            true => self.entry(kind, key),
            false => self.find(kind, key),
        };
        match entry {
            Some(entry) => entry.committed = entry.committed.saturating_add(jobs),
            None if counts_all => self.note_overflow(kind),
            None => return,
        }
        self.tidy(kind, key);
    }

    /// A transaction has committed these changes, which a count may have seen; `id` is the transaction's.
    pub fn commit(&mut self, id: u64, changes: impl Iterator<Item = (GateKind, u64, i64)>) {
        if self.books.phase == Phase::Stale || self.count_has_seen(id) {
            return;
        }
        for (kind, key, jobs) in changes {
            self.add(kind, key, jobs);
        }
    }

    /// Names that had no room have room again: a new count finds them.
    pub fn make_up_for_overflow(&mut self) {
        if self.books.overflows.contains(&true) && (self.books.used as usize) < self.most() / 2 {
            self.distrust();
        }
    }

    fn count_has_seen(&self, id: u64) -> bool {
        let running = self.running.iter().take(self.books.running as usize);
        id != 0 && id < self.books.xmax && !running.copied().any(|other| other == id as u32)
    }

    /// The numbers may be wrong: the next transaction that needs them counts.
    pub fn distrust(&mut self) {
        self.books.phase = Phase::Stale;
    }

    /// The jobs are gone, and so are the transactions that have added some.
    pub fn forget_everything(&mut self) {
        if self.books.used > 0 {
            self.entries.fill(Entry::default());
        }
        *self.books = Books {
            generation: self.books.generation + 1,
            ..Books::default()
        };
    }
}
