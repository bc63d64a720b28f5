//! What a transaction means to those who watch leases.

use turnstile_scheduler::{LeaseView, RunId};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It counts from the commit on.
    Begun,
    /// It counts no more from the commit on.
    Ended,
    /// It counts again if the transaction fails.
    Replaced,
}

/// In the order of the changes: a run may end and go on in another queue.
#[derive(Default, PartialEq)]
pub struct Leases(Vec<(LeaseView, Kind)>);

#[derive(Clone, Copy)]
pub struct LeasesPart<'a>(&'a [(LeaseView, Kind)]);

impl Leases {
    pub fn begin(&mut self, lease: LeaseView) {
        self.0.push((lease, Kind::Begun));
    }

    pub fn end(&mut self, lease: LeaseView) {
        self.0.push((lease, Kind::Ended));
    }

    /// A run has another lease. One that ends later need not be told: times are lower bounds.
    pub fn replace(&mut self, old: LeaseView, new: LeaseView) {
        self.0.push((old, Kind::Replaced));
        if new.time < old.time {
            self.begin(new);
        }
    }

    pub fn absorb(&mut self, inner: Self) {
        self.0.extend(inner.0);
    }

    /// So many at a time, in order.
    pub fn parts(&self, size: usize) -> impl Iterator<Item = LeasesPart<'_>> {
        self.0.chunks(size).map(LeasesPart)
    }
}

impl LeasesPart<'_> {
    /// What a commit makes of them, in order: a lease to be watched, or a run to be forgotten.
    pub fn after_commit(&self) -> impl Iterator<Item = Result<&LeaseView, RunId>> {
        self.0.iter().filter_map(|(lease, kind)| match kind {
            Kind::Begun => Some(Ok(lease)),
            Kind::Ended => Some(Err(lease.run)),
            Kind::Replaced => None,
        })
    }

    /// Leases that count again after an abort.
    pub fn after_abort(&self) -> impl Iterator<Item = &LeaseView> {
        let gone = self.0.iter().filter(|(_, kind)| *kind != Kind::Begun);
        gone.map(|(lease, _)| lease)
    }
}
