//! How transactions and savepoints end: first rows and locks, later the callback.

use rand::Rng;
use turnstile_scheduler::{Credit, GateKind, GateSettings};

use super::arena::At;
use super::rebuild::Trust;
use super::table::{State, Target, most};
use super::transaction::{Change, Effect, Phase, Reserved};
use super::{Checked, World};

impl World {
    pub fn savepoint(&mut self, at: usize) {
        self.transactions[at].level += 1;
    }

    pub fn release_savepoint(&mut self, at: usize) {
        let transaction = &mut self.transactions[at];
        transaction.level -= 1;
        let level = transaction.level;
        for change in &mut transaction.changes {
            change.level = change.level.min(level);
        }
        for change in &mut transaction.limits {
            change.level = change.level.min(level);
        }
        for reserved in &mut transaction.reserved {
            reserved.level = reserved.level.min(level);
        }
        for (_, lock) in &mut transaction.locks {
            *lock = level.min(*lock);
        }
        for (_, finished) in &mut transaction.finished {
            *finished = level.min(*finished);
        }
    }

    pub fn rollback_to_savepoint(&mut self, at: usize) {
        let level = self.transactions[at].level;
        self.unlock(at, level);
        self.transactions[at].phase = Phase::RolledBack;
        self.transactions[at].level -= 1;
        self.tally.count("rollback to savepoint");
    }

    pub fn abort(&mut self, at: usize) {
        self.unlock(at, 0);
        self.transactions[at].phase = Phase::Aborted;
        self.tally.count("abort");
    }

    fn unlock(&mut self, at: usize, level: usize) {
        if let Some(claim) = &self.transactions[at].claim {
            self.tally.count(claim.stage.name());
        }
        for job in self.transactions[at].undo(level) {
            self.table.jobs[job].lock = None;
        }
    }

    /// The rows become visible and their locks vanish.
    pub fn commit(&mut self, at: usize) -> Checked {
        if !self.transactions[at].limits.is_empty() {
            self.end_windows();
        }
        for change in &self.transactions[at].limits {
            self.table.limits.put(change.target, change.value);
        }
        self.note_limits();
        let transaction = &self.transactions[at];
        for change in &transaction.changes {
            let job = &mut self.table.jobs[change.job];
            let still_runs = change.before.is_running() && change.after.is_running();
            let moved = change.before.spec != change.after.spec;
            job.forced = match change.after.state {
                State::Running if still_runs => job.forced || moved,
                State::Running => change.run.is_none(),
                _ => false,
            };
            job.row = change.after;
        }
        self.check_admission(at)?;
        for (job, _) in std::mem::take(&mut self.transactions[at].locks) {
            self.table.jobs[job].lock = None;
        }
        self.transactions[at].phase = Phase::Committed { counted: false };
        self.tally.count("commit");
        Ok(())
    }

    /// Limits that come into force widen what the open claims may have been admitted by.
    fn note_limits(&mut self) {
        for transaction in &mut self.transactions {
            for (&(kind, key), allowed) in &mut transaction.allowed {
                let kind = GateKind::ALL[kind as usize];
                *allowed = (*allowed).max(most(self.table.limits.in_force(kind, key).limit));
            }
        }
    }

    /// Runs the callback that is due; a transaction that has ended is forgotten.
    pub fn call_back(&mut self, at: usize) -> Checked {
        match self.transactions[at].phase {
            Phase::Open => Ok(()),
            Phase::Committed { counted } => {
                self.after_commit(at, counted)?;
                self.transactions.swap_remove(at);
                Ok(())
            }
            Phase::Aborted => {
                self.after_abort(at)?;
                self.transactions.swap_remove(at);
                Ok(())
            }
            Phase::RolledBack => {
                self.after_abort(at)?;
                self.transactions[at].phase = Phase::Open;
                Ok(())
            }
        }
    }

    fn after_commit(&mut self, at: usize, counted: bool) -> Checked {
        let transaction = &self.transactions[at];
        let mut scheduler = self.arena.scheduler();
        let effects: Vec<_> = transaction
            .changes
            .iter()
            .flat_map(Change::effects)
            .collect();
        let is_cut_short = self.shape.resets && self.rng.random_bool(0.01);
        if is_cut_short && self.memory == Trust::Ready {
            // What is done by then is done; all reservations must be forgotten, or they are held for ever.
            if let Some(reserved) = transaction.reserved.first() {
                scheduler.commit(reserved.id).at("commit")?;
            }
            self.tally.count("callback cut short");
            self.memory = Trust::Stale;
        }
        if self.memory == Trust::Stale {
            for reserved in &transaction.reserved {
                scheduler.forget(reserved.id).at("forget")?;
            }
            for since in transaction.limits.iter().filter_map(|it| it.lost_rate) {
                scheduler.doubt_rates(since, self.clock.now);
                self.rates.lost_at = self.clock.now;
            }
            return Ok(());
        }
        for effect in &effects {
            match effect {
                Effect::Hold(spec) if !counted => scheduler.hold(spec, 1).at("hold")?,
                Effect::Commit(id) if counted => {
                    self.tally.count("commit counted by a rebuild");
                    scheduler.commit_counted(*id).at("commit_counted")?;
                }
                Effect::Commit(id) => scheduler.commit(*id).at("commit")?,
                _ => {}
            }
        }
        for effect in &effects {
            match effect {
                Effect::Release(spec) if !counted => scheduler.release(spec, 1).at("release")?,
                Effect::Lower(spec, position) => {
                    let now = self.clock.now;
                    self.dates.lower(&mut scheduler, spec, *position, now)?;
                }
                Effect::Withdraw(spec, position) => {
                    scheduler.withdraw(spec, *position).at("withdraw")?
                }
                _ => {}
            }
        }
        self.lose_rates(at)?;
        let transaction = &self.transactions[at];
        let mut scheduler = self.arena.scheduler();
        for change in &transaction.limits {
            match change.target {
                Target::Gate(kind, key) => {
                    scheduler.invalidate_gate(GateKind::ALL[kind as usize], key)
                }
                Target::Default(kind) => scheduler.invalidate_kind(GateKind::ALL[kind as usize]),
            }
            .at("invalidate")?;
            if matches!(change.target, Target::Gate(kind, _) if kind == GateKind::Session as u8) {
                scheduler.expect_paused_sessions();
            }
        }
        Ok(())
    }

    fn after_abort(&mut self, at: usize) -> Checked {
        let transaction = &mut self.transactions[at];
        let mut scheduler = self.arena.scheduler();
        if self.memory == Trust::Stale {
            for reserved in transaction.returning.drain(..) {
                scheduler.forget(reserved.id).at("forget")?;
            }
            return Ok(());
        }
        for reserved in transaction.returning.drain(..) {
            scheduler.abort(reserved.id).at("abort")?;
            if reserved.charged > 0 {
                let Reserved {
                    spec,
                    claimed_at,
                    charged,
                    ..
                } = reserved;
                self.fairness.take_back(&spec, claimed_at, charged);
            }
        }
        let (hidden, gone) = (transaction.hidden.drain(..), transaction.gone.drain(..));
        for (spec, position) in hidden.chain(gone) {
            let now = self.clock.now;
            self.dates.lower(&mut scheduler, &spec, position, now)?;
        }
        Ok(())
    }

    /// Room that the transaction gives back and has not yet used itself.
    pub fn credits(&mut self, at: usize) -> Checked<Vec<Credit>> {
        let transaction = &self.transactions[at];
        let mut credits: Vec<Credit> = Vec::new();
        for (kind, key) in transaction
            .finished
            .iter()
            .flat_map(|(spec, _)| spec.gates())
        {
            match credits
                .iter_mut()
                .find(|it| it.kind == kind && it.key == key)
            {
                Some(credit) => credit.count += 1,
                None => credits.push(Credit {
                    kind,
                    key,
                    count: 1,
                }),
            }
        }
        let scheduler = self.arena.scheduler();
        for reserved in &transaction.reserved {
            for (kind, key) in scheduler.transferred(reserved.id).at("transferred")? {
                let credit = credits
                    .iter_mut()
                    .find(|it| it.kind == kind && it.key == key);
                let credit = credit.ok_or("room was taken over that nobody gives back")?;
                credit.count = credit
                    .count
                    .checked_sub(1)
                    .ok_or("a credit was used twice")?;
            }
        }
        Ok(credits)
    }

    pub fn limit_is_locked(&self, target: Target, by: usize) -> bool {
        let others = self.transactions.iter().enumerate();
        others
            .filter(|&(at, other)| at != by && other.phase == Phase::Open)
            .any(|(_, other)| other.limits.iter().any(|change| change.target == target))
    }

    pub fn effective_settings(&self, kind: GateKind, key: u64) -> GateSettings {
        self.table.limits.in_force(kind, key)
    }
}
