//! Names are found or added, get their texts, are charged, and are forgotten when they are idle.

use super::count::Trust;
use super::label::Label;
use super::memory::Figures;
use super::name::{Id, Name};
use crate::memory::step::{Fault, NONE, Step};

/// Names that are looked at in each commit, to forget those that are idle.
const LOOKED_AT: usize = 3;

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
            None => match self.names.insert(Name::new(id), Some(id.key)) {
                Ok(at) => at,
                Err(Fault::Full) => {
                    self.header.count.note_overflow(id.kind);
                    return Ok(None);
                }
                Err(fault) => return Err(fault),
            },
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
}
