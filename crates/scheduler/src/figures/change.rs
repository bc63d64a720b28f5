//! What a transaction has changed of the jobs of one lane.

use super::dues::Dues;
use super::label::{Label, Labels};
use crate::memory::gate::GateKind;
use crate::testing::faults::{Seeded, armed};
use smallvec::SmallVec;

/// The states of live jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Available,
    Scheduled,
    Retryable,
    Running,
    Blocked,
}

pub const STATES: usize = 5;

/// What becomes of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Enqueued,
    Started,
    Completed,
    Failed,
    Retried,
    Discarded,
    Cancelled,
    Rescued,
}

pub const EVENTS: usize = 8;

/// Most transactions change a job or two.
pub type Times = SmallVec<[i64; 2]>;

/// Changes to the jobs of one lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// What its names are called.
    pub labels: Option<Labels>,
    /// How many more are in each state.
    pub states: [i32; STATES],
    pub events: [u32; EVENTS],
    /// When jobs were due that became available, and that ceased to be.
    pub arrived: Dues,
    pub left: Dues,
    /// How long jobs waited that started, and ran that ended, in microseconds.
    pub waited: Times,
    pub ran: Times,
    /// How long jobs that ended had waited over all their runs, in microseconds.
    pub waited_in_all: Times,
}

impl Change {
    pub fn add(&mut self, state: State, jobs: i32) {
        if let Some(count) = self.states.get_mut(state as usize) {
            *count += jobs;
        }
    }

    pub fn note(&mut self, event: Event) {
        if let Some(count) = self.events.get_mut(event as usize) {
            *count += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_none()
    }

    pub fn absorb(&mut self, inner: Self) {
        let Self {
            labels,
            states,
            events,
            arrived,
            left,
            waited,
            ran,
            waited_in_all,
        } = inner;
        self.labels = self.labels.take().or(labels);
        for (count, more) in self.states.iter_mut().zip(states) {
            *count += more;
        }
        for (count, more) in self.events.iter_mut().zip(events) {
            *count += more;
        }
        self.arrived.0.extend(arrived.0);
        self.left.0.extend(left.0);
        self.waited.extend(waited);
        self.ran.extend(ran);
        self.waited_in_all.extend(waited_in_all);
    }

    pub fn label_of(&self, kind: GateKind) -> Option<Label<'_>> {
        self.labels.as_ref()?.get(kind)
    }

    pub(super) fn happened(&self, event: Event) -> u32 {
        self.events.get(event as usize).copied().unwrap_or(0)
    }

    /// Some runs end without an event, as those that their workers release.
    pub(super) fn has_statistics(&self) -> bool {
        self.events != [0; EVENTS] || !self.waited.is_empty() || !self.ran.is_empty()
    }

    /// Whether a batch may have no jobs left after this: fewer than before, or what came is gone again. Any other change leaves
    /// more of them in some state than before, so at least one.
    pub(super) fn may_empty_batch(&self) -> bool {
        if armed(Seeded::SeeOnlyEnds) {
            return self.ended() > 0;
        }
        let more: i64 = self.states.into_iter().map(i64::from).sum();
        let has_gone_again = self.states == [0; STATES] && !armed(Seeded::MissWhatHasGoneAgain);
        more < 0 || has_gone_again
    }

    pub(super) fn ended(&self) -> u32 {
        [Event::Completed, Event::Discarded, Event::Cancelled]
            .into_iter()
            .map(|event| self.happened(event))
            .sum()
    }
}
