//! Whether each batch whose last job is gone is looked after.

use super::{Model, Outcomes};
use rand::Rng;
use std::collections::HashSet;
use turnstile_scheduler::LaneSpec;
use turnstile_scheduler::figures::{Change, Event, Figures, Trust};

/// Batches that get jobs at a time. Their ids are never used again.
const AT_A_TIME: u64 = 6;

#[derive(Default)]
pub struct Batches {
    begun: u64,
    /// Those that have lost their last job, and that were not looked after since.
    unnoticed: HashSet<u64>,
}

impl Model {
    /// 0: none.
    pub fn any_batch(&mut self) -> u64 {
        if self.rng.random_bool(0.1) {
            self.batches.begun += 1;
        }
        match self.rng.random_bool(0.3) {
            true => 0,
            false => 1 + self.batches.begun + self.rng.random_range(0..AT_A_TIME),
        }
    }

    fn live_in(&self, batch: u64) -> usize {
        let jobs = self.jobs.values();
        jobs.filter(|job| job.batch == batch).count()
    }

    pub fn note_whether_batch_is_empty(&mut self, batch: u64) {
        if batch == 0 {
            return;
        }
        match self.live_in(batch) {
            0 => self.batches.unnoticed.insert(batch),
            _ => self.batches.unnoticed.remove(&batch),
        };
    }

    fn is_unheard_of(&self, batch: u64) -> bool {
        let mut changes = self.unheard.iter().flat_map(|it| &it.changes);
        changes.any(|(spec, _)| spec.batch == batch)
    }

    /// A commit was heard; `is_last`: nothing more of the batch in the same commit.
    pub fn look_after_batch(
        &mut self,
        figures: &Figures,
        spec: &LaneSpec,
        change: &Change,
        is_last: bool,
    ) -> Outcomes<()> {
        let (batch, live) = (spec.batch, self.live_in(spec.batch));
        let is_called = figures.may_be_decided(spec, change);
        if batch == 0 && is_called {
            return Err("a call to look after no batch".into());
        }
        let has_failed = batch != 0 && change.events[Event::Discarded as usize] > 0;
        if has_failed && !is_called {
            return Err(format!("a failure in batch {batch} is missed"));
        }
        let is_known =
            is_last && figures.live_in_batch(batch).is_some() && !self.is_unheard_of(batch);
        if is_known && live > 0 && is_called && !has_failed {
            return Err(format!(
                "batch {batch} has {live} jobs, and is called empty"
            ));
        }
        if is_called && live == 0 {
            self.batches.unnoticed.remove(&batch);
        }
        Ok(())
    }

    pub fn check_batches(&self, figures: &Figures) -> Outcomes<()> {
        let mut unnoticed = self.batches.unnoticed.iter();
        if let Some(batch) = unnoticed.find(|&&batch| !self.is_unheard_of(batch)) {
            return Err(format!("batch {batch} is empty, and not looked after"));
        }
        let newest = self.batches.begun + AT_A_TIME + 1;
        for batch in newest.saturating_sub(2 * AT_A_TIME).max(1)..=newest {
            self.check_live(figures, batch)?;
        }
        Ok(())
    }

    /// What is said to be known is right, once all is heard.
    fn check_live(&self, figures: &Figures, batch: u64) -> Outcomes<()> {
        let found = figures.live_in_batch(batch);
        let may_be_unknown = self.is_tight || figures.trust() != Trust::Counted;
        if found.is_none() && !may_be_unknown {
            return Err(format!("batch {batch} is not known"));
        }
        let live = self.live_in(batch) as i64;
        match found {
            Some(found) if found != live && !self.is_unheard_of(batch) => {
                Err(format!("batch {batch} has {live} jobs and not {found}"))
            }
            _ => Ok(()),
        }
    }
}
