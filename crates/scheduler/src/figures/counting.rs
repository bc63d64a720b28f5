//! A count of the tables. It begins under the lock, where its snapshot is taken, and is filled in by batches. A
//! transaction that commits meanwhile, and that the snapshot did not see, adds what it has changed.

use super::change::{Change, STATES};
use super::count::{Count, Trust};
use super::kinds::{KINDS, index_of};
use super::label::Label;
use super::memory::Figures;
use super::name::{Id, Name};
use super::room::Demand;
use super::stats::Stats;
use crate::memory::gate::GateKind;
use crate::memory::lane::LaneSpec;
use crate::memory::step::{NONE, Step};
use crate::testing::faults::{Seeded, armed};

/// For `check()`.
pub struct Numbers {
    /// Jobs by state.
    pub states: Vec<(Id, [i64; STATES])>,
    /// Kinds of which a missing name has no jobs.
    pub whole: Vec<GateKind>,
    /// What open transactions have added.
    pub charged: i64,
}

/// What is kept of a name when all are counted anew.
struct Kept {
    name: Name,
    scope: Option<Box<str>>,
    text: Option<Box<str>>,
    stats: Option<Box<Stats>>,
}

impl Figures<'_> {
    pub fn trust(&self) -> Trust {
        self.header.count.trust
    }

    /// Drawn anew by each count, and when the jobs are gone.
    pub fn generation(&self) -> u64 {
        self.header.count.generation
    }

    pub(super) fn overflows(&self, kind: GateKind) -> bool {
        let overflows = self.header.count.overflows.get(index_of(kind));
        overflows.is_some_and(|&overflows| overflows)
    }

    /// Begins a count with a snapshot that is taken under this lock. Only what no table can tell is kept.
    pub fn begin_count(&mut self, (xmax, running): (u64, Vec<u32>)) -> Step<u64> {
        let kept = self.what_no_table_has();
        self.clear();
        self.header.stats_of = [0; KINDS.len()];
        let mut count = 0;
        for (slot, id) in self.running.iter_mut().zip(running) {
            *slot = id;
            count += 1;
        }
        self.header.count = Count {
            trust: Trust::Counting,
            generation: self.header.count.generation + 1,
            xmax,
            running: count,
            ..Count::default()
        };
        for kept in kept {
            if armed(Seeded::CountWithoutPast) {
                break;
            }
            self.put_back(kept)?;
        }
        Ok(self.header.count.generation)
    }

    /// It follows no links, as these may be damaged.
    fn what_no_table_has(&self) -> Vec<Kept> {
        let used = self.names.pool.used as usize;
        let names = self.names.slots.iter().take(used + 1).skip(1);
        let names = names.filter(|name| name.key != 0 && name.has_more_than_jobs());
        names.map(|name| self.kept(name)).collect()
    }

    fn kept(&self, name: &Name) -> Kept {
        let text = self.text(name.text).ok().filter(|text| !text.is_empty());
        let scope = match name.scope {
            NONE => None,
            scope => self.text(scope).ok(),
        };
        Kept {
            name: *name,
            scope,
            text,
            stats: match name.stats {
                NONE => None,
                stats => self.stats.get(stats).ok().copied().map(Box::new),
            },
        }
    }

    fn put_back(&mut self, kept: Kept) -> Step<()> {
        let label = kept.text.as_deref().map(|name| Label {
            scope: kept.scope.as_deref(),
            name,
        });
        let Some(at) = self.find_or_add(kept.name.id(), label)? else {
            return Ok(());
        };
        let name = self.names.get_mut(at)?;
        name.charged = kept.name.charged;
        (name.starts, name.ends) = (kept.name.starts, kept.name.ends);
        if let Some(stats) = kept.stats {
            let own = self.stats_for(at, self.header.stats_reset, |_| true)?;
            if own != NONE {
                *self.stats.get_mut(own)? = (*stats).given_to(at);
            }
        }
        Ok(())
    }

    /// Adds jobs of a lane that were counted; false if the count is no longer valid.
    pub fn count(
        &mut self,
        generation: u64,
        spec: &LaneSpec,
        jobs: &Change,
        now: i64,
    ) -> Step<bool> {
        if !self.is_counted_by(generation) {
            return Ok(false);
        }
        for kind in KINDS {
            let key = spec.key_of(kind);
            if key != 0
                && let Some(at) = self.find_or_add(Id { kind, key }, jobs.label_of(kind))?
            {
                self.change_states(at, jobs, now)?;
            }
        }
        if spec.batch != 0
            && !armed(Seeded::CountWithoutBatches)
            && let Some(at) = self.find_or_add(Id::of_batch(spec.batch), None)?
        {
            self.names.get_mut(at)?.add_states(jobs);
        }
        Ok(true)
    }

    pub fn end_count(&mut self, generation: u64) {
        if self.is_counted_by(generation) {
            self.header.count.trust = Trust::Counted;
        }
    }

    /// The backend that counted has stopped.
    pub fn give_up_count(&mut self, generation: u64) {
        if self.is_counted_by(generation) {
            self.distrust();
        }
    }

    fn is_counted_by(&self, generation: u64) -> bool {
        let count = &self.header.count;
        let is_same = count.generation == generation || armed(Seeded::MixCounts);
        count.trust == Trust::Counting && is_same
    }

    /// The numbers may be wrong: the next transaction that needs them counts.
    pub fn distrust(&mut self) {
        self.header.count.trust = Trust::None;
    }

    /// Whether all names of a kind are known, with what is shown of them.
    pub fn is_whole(&self, kind: GateKind) -> bool {
        !self.overflows(kind) && !self.header.count.lacks_details
    }

    /// What had no room has room again: a new count finds it.
    pub fn make_up_for_overflow(&mut self) {
        let count = &self.header.count;
        let fits_names = count.overflows.contains(&true) && self.names.is_mostly_free();
        let fits_details =
            count.lacks_details && self.bins.is_mostly_free() && self.texts.is_mostly_free();
        if fits_names || fits_details {
            self.distrust();
        }
    }

    /// With how much more room another count would be worth while.
    pub fn lack(&self) -> Demand {
        let count = &self.header.count;
        let names = count.overflows.contains(&true);
        Demand::twice([
            (names, self.names.slots.len()),
            (count.lacks_details, self.texts.slots.len()),
            (count.lacks_details, self.bins.slots.len()),
        ])
    }

    /// The numbers are wanted where they cannot be counted.
    pub fn want_count(&mut self) {
        self.header.count.is_wanted = true;
    }

    /// Whether a claim has to count, since those that came for the numbers could not.
    pub fn wants_count(&self) -> bool {
        self.header.count.is_wanted && self.header.count.trust == Trust::None
    }

    /// Nothing if they are not trusted.
    pub fn numbers(&self) -> Option<Numbers> {
        if self.trust() != Trust::Counted {
            return None;
        }
        let used = self.names.pool.used as usize;
        let names = || {
            let names = self.names.slots.iter().take(used + 1).skip(1);
            names.filter(|name| name.key != 0)
        };
        Some(Numbers {
            states: names()
                .map(|name| (name.id(), name.states.map(i64::from)))
                .collect(),
            whole: (KINDS.into_iter())
                .chain([GateKind::Batch])
                .filter(|&kind| !self.overflows(kind))
                .collect(),
            charged: names().map(|name| i64::from(name.charged)).sum(),
        })
    }
}
