//! Which names have statistics. Tenants may be without number, so the number of statistics is bounded: a name that is met when all
//! are given away looks at some others, and gets those of one that is idle or far less active and has no row of settings.

use super::kinds::{KINDS, index_of};
use super::label::Label;
use super::memory::Figures;
use super::name::Id;
use super::rounds::{Round, gives_way};
use super::stats::{MOST_STATS, Stats};
use super::view::StatsView;
use crate::memory::gate::GateKind;
use crate::memory::step::{Fault, NONE, Step};

/// How many others a name looks at each time it is met.
const LOOKED_AT: u32 = 2;
/// A queue that finds no memory for its statistics looks at so many tenants.
const LOOKED_AT_FOR_MEMORY: u32 = 16;

impl Figures<'_> {
    /// The statistics of a name; NONE if there is no room.
    pub(super) fn stats_for(
        &mut self,
        at: u32,
        now: i64,
        has_row: impl Fn(Id) -> bool,
    ) -> Step<u32> {
        if self.header.stats_reset == 0 {
            self.header.stats_reset = now;
        }
        let name = self.names.get(at)?;
        if name.stats != NONE {
            return Ok(name.stats);
        }
        let (kind, nth) = (name.kind, index_of(name.kind));
        let all_given = self.stats_of(nth) >= MOST_STATS;
        if all_given && !self.round(nth).may_find(u64::MAX, now) {
            return Ok(NONE);
        }
        let activity = match has_row(name.id()) {
            true => u64::MAX,
            false => name.starts.count(now),
        };
        if all_given && !self.take_stats(kind, LOOKED_AT, activity, now, &has_row)? {
            return Ok(NONE);
        }
        let stats = Stats::default().given_to(at);
        let made = match self.stats.insert(stats, None) {
            Err(Fault::Full) if self.take_memory(kind, activity, now, &has_row)? => {
                self.stats.insert(stats, None)
            }
            made => made,
        };
        match made {
            Ok(made) => {
                self.names.get_mut(at)?.stats = made;
                self.count_stats(nth, 1);
                Ok(made)
            }
            Err(Fault::Full) => Ok(NONE),
            Err(fault) => Err(fault),
        }
    }

    fn stats_of(&self, nth: usize) -> u32 {
        self.header.stats_of.get(nth).copied().unwrap_or(0)
    }

    fn count_stats(&mut self, nth: usize, more: i32) {
        if let Some(count) = self.header.stats_of.get_mut(nth) {
            *count = count.saturating_add_signed(more);
        }
    }

    /// Tenants come in any number, and must not keep those of queues from being counted.
    fn take_memory(
        &mut self,
        kind: GateKind,
        activity: u64,
        now: i64,
        has_row: impl Fn(Id) -> bool,
    ) -> Step<bool> {
        let (looks, activity) = match kind {
            GateKind::Queue => (LOOKED_AT_FOR_MEMORY, u64::MAX),
            _ => (LOOKED_AT, activity),
        };
        self.take_stats(GateKind::Tenant, looks, activity, now, has_row)
    }

    /// From the least active of the names that are looked at next, are idle or far less active than this, and have no row; false if
    /// there is none.
    fn take_stats(
        &mut self,
        kind: GateKind,
        looks: u32,
        activity: u64,
        now: i64,
        has_row: impl Fn(Id) -> bool,
    ) -> Step<bool> {
        let Some(round) = self.header.rounds.get_mut(index_of(kind)) else {
            return Ok(false);
        };
        if !round.may_find(activity, now) {
            return Ok(false);
        }
        let slots = self.stats.pool.used;
        let mut least: Option<(u64, u32)> = None;
        let mut seen = 0;
        for _ in 0..slots {
            if seen >= looks {
                break;
            }
            let owner = self.stats.get(round.next(slots))?.name;
            if owner == NONE {
                continue;
            }
            let name = self.names.get(owner)?;
            if name.kind != kind {
                continue;
            }
            seen += 1;
            if has_row(name.id()) {
                continue;
            }
            let starts = name.starts.count(now);
            round.saw(starts);
            if gives_way(starts, activity) {
                let found = (starts, owner);
                least = Some(least.map_or(found, |least| least.min(found)));
            }
        }
        let Some((_, owner)) = least else {
            round.has_not_found(slots, now);
            return Ok(false);
        };
        round.has_found();
        self.drop_stats(owner).map(|()| true)
    }

    fn round(&self, nth: usize) -> Round {
        self.header.rounds.get(nth).copied().unwrap_or_default()
    }

    fn drop_stats(&mut self, at: u32) -> Step<()> {
        let name = self.names.get_mut(at)?;
        let (stats, kind) = (std::mem::replace(&mut name.stats, NONE), name.kind);
        self.stats.remove(stats, None)?;
        self.count_stats(index_of(kind), -1);
        Ok(())
    }

    /// Counts events from now on.
    pub fn reset_stats(&mut self, now: i64) -> Step<()> {
        for at in self.stats.touched() {
            let owner = self.stats.get(at)?.name;
            if owner != NONE {
                self.names.get_mut(owner)?.stats = NONE;
            }
        }
        self.stats.wipe();
        self.header.stats_of = [0; KINDS.len()];
        self.header.stats_reset = now;
        Ok(())
    }

    /// Events were counted since then, and go on to be.
    pub fn go_on_since(&mut self, stats_reset: i64) {
        self.header.stats_reset = stats_reset;
    }

    /// What was counted of a name before.
    pub fn put_back_stats(&mut self, id: Id, label: Label, stats: &StatsView) -> Step<()> {
        let Some(at) = self.find_or_add(id, Some(label))? else {
            return Ok(());
        };
        let own = self.stats_for(at, self.header.stats_reset, |_| true)?;
        if own != NONE {
            let own = self.stats.get_mut(own)?;
            own.events = stats.events;
            (own.waited, own.ran) = (stats.waited, stats.ran);
            own.waited_in_all = stats.waited_in_all;
        }
        Ok(())
    }

    pub fn stats_reset(&self) -> i64 {
        self.header.stats_reset
    }
}
