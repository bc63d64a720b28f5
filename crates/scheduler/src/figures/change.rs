//! What a transaction has changed of the jobs of one lane, applied to each of its names.

use super::ages::{second_of, time_of};
use super::name::Id;
use super::text::{Label, Labels};
use super::{Figures, KINDS, Trust};
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::step::{Fault, NONE, Step};
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

/// How many jobs were due in which second. A transaction that changes many jobs often changes those of the same second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dues(SmallVec<[(u32, i32); 2]>);

impl Dues {
    pub fn extend(&mut self, due: Option<i64>) {
        due.into_iter().for_each(|due| self.add(due, 1));
    }

    pub fn add(&mut self, due: i64, jobs: i32) {
        let second = second_of(due);
        match self.0.last_mut() {
            Some((last, number)) if *last == second => *number = number.saturating_add(jobs),
            _ => self.0.push((second, jobs)),
        }
    }

    pub fn first(&self) -> Option<i64> {
        let seconds = self.0.iter().map(|&(second, _)| second);
        seconds.min().map(time_of)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

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

    fn happened(&self, event: Event) -> u32 {
        self.events.get(event as usize).copied().unwrap_or(0)
    }

    /// Some runs end without an event, as those that their workers release.
    fn has_statistics(&self) -> bool {
        self.events != [0; EVENTS] || !self.waited.is_empty() || !self.ran.is_empty()
    }

    /// Whether a batch may have no jobs left after this: fewer than before, or what came is gone again. Any other change leaves
    /// more of them in some state than before, so at least one.
    fn may_empty_batch(&self) -> bool {
        if armed(Seeded::SeeOnlyEnds) {
            return self.ended() > 0;
        }
        let more: i64 = self.states.into_iter().map(i64::from).sum();
        let has_gone_again = self.states == [0; STATES] && !armed(Seeded::MissWhatHasGoneAgain);
        more < 0 || has_gone_again
    }

    fn ended(&self) -> u32 {
        [Event::Completed, Event::Discarded, Event::Cancelled]
            .into_iter()
            .map(|event| self.happened(event))
            .sum()
    }
}

impl Figures<'_> {
    /// A transaction has committed these changes to jobs of a lane; `id` is the transaction's. Names with a row of
    /// settings keep their statistics.
    pub fn commit(
        &mut self,
        id: u64,
        spec: &LaneSpec,
        change: &Change,
        now: i64,
        has_row: impl Fn(Id) -> bool,
    ) -> Step<()> {
        if change.is_empty() {
            return Ok(());
        }
        let has_states = self.header.count.takes_changes_of(id, self.running);
        for kind in KINDS {
            let key = spec.key_of(kind);
            if key == 0 {
                continue;
            }
            let Some(at) = self.find_or_add(Id { kind, key }, change.label_of(kind))? else {
                continue;
            };
            self.happen(at, change, now, &has_row)?;
            if has_states {
                self.change_states(at, change, now)?;
            }
        }
        if spec.batch != 0 {
            self.commit_batch(spec.batch, change, now, has_states)?;
        }
        self.forget_idle(now)
    }

    /// Since when its jobs wait is not kept: nobody asks for it.
    fn commit_batch(&mut self, key: u64, change: &Change, now: i64, has_states: bool) -> Step<()> {
        let Some(at) = self.find_or_add(Id::of_batch(key), None)? else {
            return Ok(());
        };
        self.happen(at, change, now, |_| false)?;
        if has_states && !armed(Seeded::MissBatches) {
            self.names.get_mut(at)?.add_states(change);
        }
        Ok(())
    }

    /// Whether what has just been committed may decide the fate of its batch: one has failed, or the last is gone as far as is
    /// known. Commits come in any order, so there may be less than none. Once a batch is empty, this is true for the
    /// commit that has emptied it, or for one that comes later.
    pub fn may_be_decided(&self, spec: &LaneSpec, change: &Change) -> bool {
        if spec.batch == 0 {
            return false;
        }
        let has_failed = change.happened(Event::Discarded) > 0;
        let is_empty = |live| match armed(Seeded::WaitForExactlyNone) {
            true => live == 0,
            false => live <= 0,
        };
        has_failed && !armed(Seeded::IgnoreFailures)
            || change.may_empty_batch() && self.live_in_batch(spec.batch).is_none_or(is_empty)
    }

    /// How many jobs of a batch are live; nothing if it is not known. It is below zero where some have gone that are not known to
    /// have come.
    pub fn live_in_batch(&self, key: u64) -> Option<i64> {
        let id = Id::of_batch(key);
        if self.trust() != Trust::Counted && !armed(Seeded::TrustUnfinishedCount) {
            return None;
        }
        match self.find(id).ok()? {
            Some(at) => Some(self.names.get(at).ok()?.live()),
            None if self.overflows(id.kind) && !armed(Seeded::TakeUnknownForNone) => None,
            None => Some(0),
        }
    }

    fn happen(
        &mut self,
        at: u32,
        change: &Change,
        now: i64,
        has_row: impl Fn(Id) -> bool,
    ) -> Step<()> {
        let name = self.names.get_mut(at)?;
        let kind = name.kind;
        let (started, ended) = (change.happened(Event::Started), change.ended());
        if started > 0 {
            name.starts.note(started, now);
        }
        if ended > 0 {
            name.ends.note(ended, now);
        }
        if !change.has_statistics() || !matches!(kind, GateKind::Queue | GateKind::Tenant) {
            return Ok(());
        }
        let stats = self.stats_for(at, now, has_row)?;
        if stats != NONE {
            self.stats.get_mut(stats)?.note(change);
        }
        Ok(())
    }

    pub(super) fn change_states(&mut self, at: u32, change: &Change, now: i64) -> Step<()> {
        self.names.get_mut(at)?.add_states(change);
        for (due, jobs) in [(&change.left, -1), (&change.arrived, 1)] {
            for &(second, number) in &due.0 {
                match self.count_due(at, second, jobs * number, now) {
                    Err(Fault::Full) => {
                        self.names.get_mut(at)?.has_lost_ages = true;
                        self.header.count.note_lack_of_details();
                    }
                    counted => counted?,
                }
            }
        }
        Ok(())
    }
}
