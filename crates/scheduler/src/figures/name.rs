//! One name.

use super::change::Change;
use super::minute::Minute;
use super::text::Label;
use super::{Figures, KINDS, STATES, Trust};
use crate::memory::gate::GateKind;
use crate::memory::slab::keyed_slot;
use crate::memory::step::{Fault, NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// Names that are looked at in each commit, to forget those that are idle.
const LOOKED_AT: usize = 3;

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
    fn is_idle(&self, now: i64) -> bool {
        let has_ages = self.oldest != NONE && !self.has_lost_ages;
        (self.states == [0; STATES] || armed(Seeded::ForgetTheBusy))
            && !has_ages
            && self.charged == 0
            && self.stats == NONE
            && self.starts.count(now) == 0
            && self.ends.count(now) == 0
    }
}

impl Figures<'_> {
    pub(super) fn find(&self, id: Id) -> Step<Option<u32>> {
        if self.names.buckets.is_empty() {
            return Ok(None);
        }
        self.names
            .find(id.key, |_, name| name.key == id.key && name.kind == id.kind)
    }

    /// Nothing if it has no room.
    pub(super) fn find_or_add(&mut self, id: Id, label: Option<Label>) -> Step<Option<u32>> {
        let at = match self.find(id)? {
            Some(at) => at,
            // Jobs that came before it would be missing.
            None if self.overflows(id.kind) && self.trust() != Trust::None => return Ok(None),
            None => {
                let name = Name {
                    key: id.key,
                    kind: id.kind,
                    ..Name::default()
                };
                match self.names.insert(name, Some(id.key)) {
                    Ok(at) => at,
                    Err(Fault::Full) => {
                        self.header.count.note_overflow(id.kind);
                        return Ok(None);
                    }
                    Err(fault) => return Err(fault),
                }
            }
        };
        if let Some(label) = label
            && self.names.get(at)?.text == NONE
        {
            self.name_it(at, label)?;
        }
        Ok(Some(at))
    }

    fn name_it(&mut self, at: u32, label: Label) -> Step<()> {
        let scope = match label.scope {
            Some(scope) => self.store_text(scope)?,
            None => NONE,
        };
        let text = self.store_text(label.name)?;
        let is_whole = text != NONE && (scope != NONE) == label.scope.is_some();
        if !is_whole {
            self.header.count.note_lack_of_details();
            self.drop_text(text)?;
            return self.drop_text(scope);
        }
        let name = self.names.get_mut(at)?;
        (name.text, name.scope) = (text, scope);
        Ok(())
    }

    pub(super) fn forget_name(&mut self, at: u32) -> Step<()> {
        let name = *self.names.get(at)?;
        self.drop_text(name.text)?;
        self.drop_text(name.scope)?;
        self.drop_ages(at)?;
        self.names.remove(at, Some(name.key))
    }

    /// Looks at some names, in turn, and forgets those that are idle.
    pub(super) fn forget_idle(&mut self, now: i64) -> Step<()> {
        for _ in 0..LOOKED_AT {
            let last = self.names.pool.used;
            if last == 0 {
                return Ok(());
            }
            self.header.hand = self.header.hand % last + 1;
            let name = self.names.get(self.header.hand)?;
            if name.key != 0 && name.is_idle(now) {
                self.forget_name(self.header.hand)?;
            }
        }
        Ok(())
    }

    /// Jobs of a name that wait, with those that open transactions have added; nothing if it is not known.
    pub fn waiting(&self, id: Id, with_charged: bool) -> Step<Option<i64>> {
        let Some(at) = self.find(id)? else {
            return Ok((!self.overflows(id.kind)).then_some(0));
        };
        let name = self.names.get(at)?;
        let charged = if with_charged { name.charged } else { 0 };
        Ok(Some(name.waiting() + i64::from(charged)))
    }

    /// An open transaction adds a job; false if there is no room to note it.
    pub fn charge(&mut self, id: Id) -> Step<bool> {
        let Some(at) = self.find_or_add(id, None)? else {
            return Ok(false);
        };
        let name = self.names.get_mut(at)?;
        name.charged = name.charged.saturating_add(1);
        Ok(true)
    }

    /// A transaction that was charged for this many jobs has ended.
    pub fn discharge(&mut self, id: Id, jobs: u32) -> Step<()> {
        if let Some(at) = self.find(id)? {
            let name = self.names.get_mut(at)?;
            name.charged = name.charged.saturating_sub(jobs);
        }
        Ok(())
    }

    /// What a name is called, if it is known.
    pub fn called(&self, id: Id) -> Step<Option<Box<str>>> {
        let Some(at) = self.find(id)? else {
            return Ok(None);
        };
        match self.names.get(at)?.text {
            NONE => Ok(None),
            text => self.text(text).map(Some),
        }
    }

    pub(super) fn index_of(kind: GateKind) -> usize {
        let listed = KINDS.iter().position(|&it| it == kind);
        listed.unwrap_or(KINDS.len())
    }
}
