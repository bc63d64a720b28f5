//! An open transaction: what it changed and reserved, by savepoint level, and its commit and abort.

use std::collections::HashMap;

use turnstile_scheduler::{Credit, GateKind, LaneSpec, Limit, ReservationId};

use super::arena::At;
use super::claim::Claim;
use super::rebuild::Trust;
use super::table::{JobId, Row, State, Target, TransactionId, most};
use super::{Checked, World};

#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub job: JobId,
    pub before: Row,
    pub after: Row,
    /// The claim that made the job run.
    pub run: Option<ReservationId>,
    pub level: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    pub id: ReservationId,
    pub spec: LaneSpec,
    /// Known from the settling on.
    pub job: Option<JobId>,
    pub level: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct LimitChange {
    pub target: Target,
    pub value: Option<Option<u32>>,
    pub level: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// Rows are visible, the callback has not run; `counted` if a rebuild has read the rows.
    Committed {
        counted: bool,
    },
    /// Locks are gone, the callback has not run.
    Aborted,
    /// As `Aborted`, for the levels that a rollback to a savepoint undid.
    RolledBack,
}

pub struct Transaction {
    pub id: TransactionId,
    pub phase: Phase,
    pub level: usize,
    pub changes: Vec<Change>,
    pub locks: Vec<(JobId, usize)>,
    pub limits: Vec<LimitChange>,
    pub reserved: Vec<Reserved>,
    /// Reservations whose abort callback is due.
    pub returning: Vec<Reserved>,
    /// Jobs whose room the transaction gives back.
    pub finished: Vec<(LaneSpec, usize)>,
    /// Rows that an undone change had made unavailable.
    pub gone: Vec<(LaneSpec, i64)>,
    /// Where the current claim must lower lanes when it ends.
    pub hidden: Vec<(LaneSpec, i64)>,
    pub claim: Option<Claim>,
    /// The largest limit that was in force since the first pick, by gate.
    pub allowed: HashMap<(u8, u64), u32>,
}

/// What a commit callback tells the scheduler about a change.
enum Effect {
    Hold(LaneSpec),
    Commit(ReservationId),
    Release(LaneSpec),
    Lower(LaneSpec, i64),
    Withdraw(LaneSpec, i64),
}

impl Change {
    fn effects(&self) -> Vec<Effect> {
        let (before, after) = (self.before, self.after);
        let mut effects = Vec::new();
        if after.is_running() && !(before.is_running() && before.spec == after.spec) {
            effects.push(match self.run {
                Some(id) => Effect::Commit(id),
                None => Effect::Hold(after.spec),
            });
        }
        if before.is_running() && !(after.is_running() && before.spec == after.spec) {
            effects.push(Effect::Release(before.spec));
        }
        if before.is_available() && before != after && self.run.is_none() {
            effects.push(Effect::Withdraw(before.spec, before.position));
        }
        if after.is_available() && before != after {
            effects.push(Effect::Lower(after.spec, after.position));
        }
        effects
    }
}

impl Transaction {
    pub fn new(id: TransactionId) -> Self {
        Self {
            id,
            phase: Phase::Open,
            level: 0,
            changes: Vec::new(),
            locks: Vec::new(),
            limits: Vec::new(),
            reserved: Vec::new(),
            returning: Vec::new(),
            gone: Vec::new(),
            finished: Vec::new(),
            hidden: Vec::new(),
            claim: None,
            allowed: HashMap::new(),
        }
    }

    pub fn view(&self, job: JobId, committed: Row) -> Row {
        let own = self.changes.iter().rev().find(|change| change.job == job);
        own.map_or(committed, |change| change.after)
    }

    /// Change of `held` at a gate once the commit callback has run, apart from reservations.
    pub fn held_difference(&self, kind: GateKind, key: u64) -> i64 {
        let effects = self.changes.iter().flat_map(Change::effects);
        let behind = |spec: &LaneSpec| i64::from(spec.key_of(kind) == key);
        let started = effects.map(|effect| match effect {
            Effect::Hold(spec) => behind(&spec),
            _ => 0,
        });
        started.sum::<i64>() + self.admitted(kind, key)
    }

    /// Runs that the transaction's claims add behind a gate, less those that it ends.
    pub fn admitted(&self, kind: GateKind, key: u64) -> i64 {
        let effects = self.changes.iter().flat_map(Change::effects);
        let behind = |spec: &LaneSpec| i64::from(spec.key_of(kind) == key);
        let admitted = effects.map(|effect| match effect {
            Effect::Commit(id) => {
                let found = self.reserved.iter().find(|reserved| reserved.id == id);
                found.map_or(0, |reserved| behind(&reserved.spec))
            }
            Effect::Release(spec) => -behind(&spec),
            Effect::Hold(_) | Effect::Lower(..) | Effect::Withdraw(..) => 0,
        });
        admitted.sum()
    }

    /// Whether a claim has passed over a locked job at the position or before it.
    pub fn has_passed_over(&self, lane: u64, position: i64) -> bool {
        let mut hidden = self.hidden.iter();
        hidden.any(|&(spec, to)| spec.lane == lane && to <= position)
    }

    /// Whether the lane will be lowered to the position or before it.
    pub fn owes_lowering(&self, lane: u64, position: i64) -> bool {
        let mut gone = self.gone.iter();
        if self.has_passed_over(lane, position)
            || gone.any(|&(spec, to)| spec.lane == lane && to <= position)
        {
            return true;
        }
        let committed = matches!(self.phase, Phase::Committed { .. });
        let mut effects = self.changes.iter().flat_map(Change::effects);
        committed
            && effects.any(|effect| match effect {
                Effect::Lower(spec, to) => spec.lane == lane && to <= position,
                _ => false,
            })
    }

    /// Whether the job is locked by a settled claim, or by one whose abort callback is due.
    pub fn will_come_back(&self, job: JobId) -> bool {
        let mut reserved = self.reserved.iter().chain(&self.returning);
        let open = self.phase == Phase::Open || self.phase == Phase::RolledBack;
        reserved.any(|it| it.job == Some(job))
            || (open && self.changes.iter().any(|change| change.job == job))
    }

    /// Jobs that were set running by hand, or moved while running, with the callback still to come.
    pub fn unheard_runs(&self) -> impl Iterator<Item = JobId> + use<'_> {
        let committed = matches!(self.phase, Phase::Committed { .. });
        let changes = self.changes.iter().filter(move |_| committed);
        let unheard = changes.filter(|change| change.after.is_running() && change.run.is_none());
        unheard.map(|change| change.job)
    }

    pub fn invalidates(&self, kind: GateKind, key: u64) -> bool {
        let mut limits = self.limits.iter();
        limits.any(|change| change.target.covers(kind, key))
    }

    /// Undoes all that was done at `level` and above; what the callback has to do stays.
    fn undo(&mut self, level: usize) -> Vec<JobId> {
        let undone = self.changes.iter().filter(|change| change.level >= level);
        let gone = undone.filter(|change| change.before.is_available() && change.run.is_none());
        self.gone
            .extend(gone.map(|change| (change.before.spec, change.before.position)));
        self.changes.retain(|change| change.level < level);
        self.limits.retain(|change| change.level < level);
        self.finished.retain(|&(_, at)| at < level);
        let (kept, gone): (Vec<_>, Vec<_>) =
            self.reserved.drain(..).partition(|it| it.level < level);
        self.reserved = kept;
        self.returning.extend(gone);
        self.claim = None;
        let (kept, gone): (Vec<_>, Vec<_>) = self.locks.drain(..).partition(|&(_, at)| at < level);
        self.locks = kept;
        gone.into_iter().map(|(job, _)| job).collect()
    }
}

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
                *allowed = (*allowed).max(most(self.table.limits.in_force(kind, key)));
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
        if self.memory == Trust::Stale {
            for reserved in &transaction.reserved {
                scheduler.forget(reserved.id).at("forget")?;
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
                Effect::Lower(spec, position) => scheduler.lower(spec, *position).at("lower")?,
                Effect::Withdraw(spec, position) => {
                    scheduler.withdraw(spec, *position).at("withdraw")?
                }
                _ => {}
            }
        }
        for change in &transaction.limits {
            match change.target {
                Target::Gate(kind, key) => {
                    scheduler.invalidate_gate(GateKind::ALL[kind as usize], key)
                }
                Target::Default(kind) => scheduler.invalidate_kind(GateKind::ALL[kind as usize]),
            }
            .at("invalidate")?;
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
        }
        let (hidden, gone) = (transaction.hidden.drain(..), transaction.gone.drain(..));
        for (spec, position) in hidden.chain(gone) {
            scheduler.lower(&spec, position).at("lower after abort")?;
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

    pub fn effective_limit(&self, kind: GateKind, key: u64) -> Limit {
        self.table.limits.in_force(kind, key)
    }
}
