//! The figures as others see them.

use super::change::{EVENTS, STATES};
use super::count::Trust;
use super::histogram::Histogram;
use super::memory::Figures;
use super::name::Id;
use crate::memory::gate::GateKind;
use crate::memory::step::{NONE, Step};

/// Slots that are looked at while the lock is held once. Names keep theirs as long as they have something to show.
const PART: u32 = 1_000;

pub struct NameView {
    pub key: u64,
    /// Of an account, the tenant.
    pub scope: Option<Box<str>>,
    pub name: Box<str>,
    /// Jobs in each state; nothing if they have not been counted.
    pub states: Option<[i64; STATES]>,
    /// Since when the first of the waiting jobs has waited, if any does.
    pub waiting_since: Option<i64>,
    /// In the last minute.
    pub started: u64,
    pub ended: u64,
    pub stats: Option<Box<StatsView>>,
}

pub struct StatsView {
    pub events: [u64; EVENTS],
    pub waited: Histogram,
    pub ran: Histogram,
    pub waited_in_all: Histogram,
}

impl Figures<'_> {
    /// Names of a kind that have something to show, from a slot on, and the slot from which the view goes on, if it does.
    pub fn view(&self, kind: GateKind, from: u32, now: i64) -> Step<(Vec<NameView>, Option<u32>)> {
        let mut views = Vec::new();
        let next = from.saturating_add(PART);
        let last = *self.names.touched().end();
        for at in from.max(1)..next.min(last.saturating_add(1)) {
            let name = self.names.get(at)?;
            let is_called = name.text != NONE || kind == GateKind::Batch;
            if name.key == 0 || name.kind != kind || !is_called {
                continue;
            }
            let view = self.view_of(at, now)?;
            if view.states != Some([0; STATES])
                || view.started > 0
                || view.ended > 0
                || view.stats.is_some()
            {
                views.push(view);
            }
        }
        Ok((views, (next <= last).then_some(next)))
    }

    /// One name, if it is known.
    pub fn view_one(&self, id: Id, now: i64) -> Step<Option<NameView>> {
        match self.find(id)? {
            Some(at) => Ok(Some(self.view_of(at, now)?)),
            None => Ok(None),
        }
    }

    fn view_of(&self, at: u32, now: i64) -> Step<NameView> {
        let name = self.names.get(at)?;
        let is_counted = self.trust() == Trust::Counted;
        let stats = match name.stats {
            NONE => None,
            stats => {
                let found = self.stats.get(stats)?;
                Some(Box::new(StatsView {
                    events: found.events,
                    waited: found.waited,
                    ran: found.ran,
                    waited_in_all: found.waited_in_all,
                }))
            }
        };
        Ok(NameView {
            key: name.key,
            scope: match name.scope {
                NONE => None,
                scope => Some(self.text(scope)?),
            },
            name: match name.kind {
                GateKind::Batch => name.key.cast_signed().to_string().into(),
                _ => self.text(name.text)?,
            },
            states: is_counted.then(|| name.states.map(i64::from)),
            waiting_since: match is_counted {
                true => self.waiting_since(at)?,
                false => None,
            },
            started: name.starts.count(now),
            ended: name.ends.count(now),
            stats,
        })
    }
}
