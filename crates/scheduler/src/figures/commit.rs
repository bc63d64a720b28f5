//! What a transaction has changed is applied to each of the names.

use super::change::{Change, Event};
use super::count::Trust;
use super::kinds::KINDS;
use super::memory::Figures;
use super::name::Id;
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

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
