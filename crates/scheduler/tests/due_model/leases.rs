//! Runs whose leases are made longer without a word, made shorter, moved and ended, while searches read and settle late.

use super::arena::At;
use super::{Checked, QUEUES, World};
use rand::Rng;
use std::collections::BTreeMap;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{LeaseView, RunId, Scheduler};

/// What the tables say.
#[derive(Default)]
pub struct Truth {
    runs: BTreeMap<RunId, (u64, i64)>,
    /// When a search has let each run be looked at again.
    again: BTreeMap<RunId, i64>,
    /// Searches that have read a row and not settled yet.
    open: Vec<Search>,
}

struct Search {
    run: RunId,
    again: i64,
    row: Option<(u64, i64)>,
}

impl World {
    pub fn step_leases(&mut self, scheduler: &mut Scheduler) -> Checked {
        let run = RunId {
            job: self.rng.random_range(1..=30),
            attempt: self.rng.random_range(1..=2),
        };
        match self.rng.random_range(0..100) {
            0..40 => self.come(scheduler, run),
            40..55 => {
                self.truth.runs.remove(&run);
                scheduler.forget_lease(run).at("forget_lease")
            }
            55..65 => {
                if let Some((_, lease)) = self.truth.runs.get_mut(&run) {
                    *lease = lease.saturating_add(50);
                }
                Ok(())
            }
            65..80 => self.search(scheduler),
            80..98 => self.settle(scheduler),
            _ => self.read_outside(scheduler),
        }
    }

    /// A run begins, or gets another lease or queue.
    fn come(&mut self, scheduler: &mut Scheduler, run: RunId) -> Checked {
        let queue = match self.rng.random_bool(0.1) {
            true => self.rng.random_range(1..=QUEUES),
            false => 1 + run.job.unsigned_abs() % QUEUES,
        };
        let lease = match self.rng.random_bool(0.05) {
            true => NEVER,
            false => self.now + self.rng.random_range(-50..200),
        };
        self.truth.runs.insert(run, (queue, lease));
        scheduler.note_lease(queue, run, lease).at("note_lease")
    }

    fn search(&mut self, scheduler: &mut Scheduler) -> Checked {
        let queue = self.rng.random_range(1..=QUEUES);
        let again = self.now + self.rng.random_range(1..30);
        let most = self.rng.random_range(1..4);
        let due = |(_, time): &(RunId, i64)| *time <= self.now;
        let mut expected: Vec<i64> = entries(scheduler, queue)?
            .into_iter()
            .filter(due)
            .map(|(_, time)| time)
            .collect();
        expected.sort_unstable();
        expected.truncate(most);
        let before: BTreeMap<RunId, i64> = entries(scheduler, queue)?.into_iter().collect();
        let mut taken = Vec::new();
        scheduler
            .take_leases(queue, self.now, again, most, &mut taken)
            .at("take_leases")?;
        let times: Vec<i64> = taken.iter().map(|run| before[run]).collect();
        if times != expected {
            return Err(format!("a search takes {times:?} instead of {expected:?}"));
        }
        for run in taken {
            self.truth.again.insert(run, again);
            let row = self.truth.runs.get(&run).copied();
            self.truth.open.push(Search { run, again, row });
        }
        Ok(())
    }

    /// Some searches are never heard of again.
    fn settle(&mut self, scheduler: &mut Scheduler) -> Checked {
        if self.truth.open.is_empty() {
            return Ok(());
        }
        let which = self.rng.random_range(0..self.truth.open.len());
        let Search { run, again, row } = self.truth.open.swap_remove(which);
        match self.rng.random_bool(0.1) {
            true => Ok(()),
            false => scheduler.settle_lease(run, again, row).at("settle_lease"),
        }
    }

    fn read_outside(&mut self, scheduler: &mut Scheduler) -> Checked {
        scheduler.take_leases_outside();
        for (&run, &(queue, lease)) in &self.truth.runs {
            scheduler.note_lease(queue, run, lease).at("note_lease")?;
        }
        Ok(())
    }

    /// No lease is forgotten, and each queue is due when its first lease is.
    pub fn compare_leases(&self, scheduler: &Scheduler) -> Checked {
        let found: BTreeMap<RunId, LeaseView> = views(scheduler)?
            .into_iter()
            .map(|lease| (lease.run, lease))
            .collect();
        for (run, &(_, lease)) in &self.truth.runs {
            let again = self.truth.again.get(run).copied().unwrap_or(lease);
            let is_watched = match found.get(run) {
                Some(known) => known.time <= lease.max(again),
                None => scheduler.leases_outside() <= lease,
            };
            if !is_watched {
                return Err(format!(
                    "{run:?} is not watched, although its lease ends {lease}"
                ));
            }
        }
        for queue in 1..=QUEUES {
            let times = entries(scheduler, queue)?;
            let first = times.into_iter().map(|(_, time)| time).min();
            if scheduler.times_of(queue).at("times_of")?.1 != first.unwrap_or(NEVER) {
                return Err(format!("queue {queue} is not due when its first lease is"));
            }
        }
        Ok(())
    }
}

fn views(scheduler: &Scheduler) -> Checked<Vec<LeaseView>> {
    let slots = scheduler.lease_slots();
    let each = slots.map(|slot| scheduler.lease_at(slot).at("lease_at"));
    each.filter_map(Result::transpose).collect()
}

fn entries(scheduler: &Scheduler, queue: u64) -> Checked<Vec<(RunId, i64)>> {
    let all = views(scheduler)?.into_iter();
    Ok(all
        .filter(|lease| lease.queue == queue)
        .map(|lease| (lease.run, lease.time))
        .collect())
}
