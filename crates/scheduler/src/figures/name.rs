//! One name, or one batch.

use super::change::{Change, STATES};
use super::minute::Minute;
use crate::memory::gate::GateKind;
use crate::memory::slab::keyed_slot;
use crate::memory::step::NONE;
use crate::testing::faults::{Seeded, armed};

/// By what a name is found: the kind and the key of its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    pub kind: GateKind,
    pub key: u64,
}

impl Id {
    /// A batch is known by the id of its parent.
    pub fn of_batch(key: u64) -> Self {
        Self {
            kind: GateKind::Batch,
            key,
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Name {
    /// 0: a free slot.
    pub(super) key: u64,
    next: u32,
    pub(super) kind: GateKind,
    /// Some job found no room among the ages: they are not known until the next count.
    pub(super) has_lost_ages: bool,
    /// Jobs in each state. Below zero while a count is under way that has not yet reached jobs that are gone by now.
    pub(super) states: [i32; STATES],
    /// Jobs that open transactions have added, where the backlog has a bound.
    pub(super) charged: u32,
    /// What it is called; NONE: not known yet.
    pub(super) text: u32,
    pub(super) scope: u32,
    /// Since when its jobs wait, the longest first.
    pub(super) oldest: u32,
    pub(super) newest: u32,
    pub(super) bins: u32,
    pub(super) stats: u32,
    pub(super) starts: Minute,
    pub(super) ends: Minute,
}

keyed_slot!(Name);

impl Name {
    pub(super) fn new(Id { kind, key }: Id) -> Self {
        Self {
            key,
            kind,
            ..Self::default()
        }
    }

    pub(super) fn id(&self) -> Id {
        Id {
            kind: self.kind,
            key: self.key,
        }
    }

    /// Jobs that are live and do not run.
    pub(super) fn waiting(&self) -> i64 {
        let [available, scheduled, retryable, _, _] = self.states;
        [available, scheduled, retryable]
            .into_iter()
            .map(i64::from)
            .sum()
    }

    pub(super) fn available(&self) -> i32 {
        let [available, ..] = self.states;
        available
    }

    /// Jobs in any state.
    pub(super) fn live(&self) -> i64 {
        let [.., running, blocked] = self.states.map(i64::from);
        match armed(Seeded::TakeBlockedForGone) {
            true => self.waiting() + running,
            false => self.waiting() + running + blocked,
        }
    }

    pub(super) fn add_states(&mut self, change: &Change) {
        for (count, more) in self.states.iter_mut().zip(change.states) {
            *count = count.saturating_add(more);
        }
    }

    /// Whether there is something about it that no table tells.
    pub(super) fn has_more_than_jobs(&self) -> bool {
        self.charged > 0 || self.stats != NONE || !self.starts.is_empty() || !self.ends.is_empty()
    }

    /// Commits come in any order: where there are no jobs for a while, those that came may not be those that went.
    pub(super) fn is_idle(&self, now: i64) -> bool {
        let has_ages = self.oldest != NONE && !self.has_lost_ages;
        (self.states == [0; STATES] || armed(Seeded::ForgetTheBusy))
            && !has_ages
            && self.charged == 0
            && self.stats == NONE
            && self.starts.count(now) == 0
            && self.ends.count(now) == 0
    }
}
