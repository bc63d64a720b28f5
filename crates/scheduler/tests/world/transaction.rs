//! An open transaction: what it changed and reserved, by savepoint level.

use std::collections::HashMap;

use turnstile_scheduler::{GateKind, LaneSpec, ReservationId};

use super::claim::Claim;
use super::table::{JobId, LimitRow, Row, Target, TransactionId};

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
    /// What a fair queue has charged for it, until it is known to start.
    pub charged: u64,
    /// The level of the lane at the pick.
    pub claimed_at: i32,
    pub level: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct LimitChange {
    pub target: Target,
    pub value: Option<LimitRow>,
    /// Since when the row had a rate that it has no more.
    pub lost_rate: Option<i64>,
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
pub enum Effect {
    Hold(LaneSpec),
    Commit(ReservationId),
    Release(LaneSpec),
    Lower(LaneSpec, i64),
    Withdraw(LaneSpec, i64),
}

impl Change {
    pub fn effects(&self) -> Vec<Effect> {
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

    /// Whether the job is locked by a settled claim, by one whose abort callback is due, or by a change
    /// that an abort will make known.
    pub fn will_come_back(&self, job: JobId) -> bool {
        let mut reserved = self.reserved.iter().chain(&self.returning);
        let open = self.phase == Phase::Open || self.phase == Phase::RolledBack;
        let mut changed = self.changes.iter().filter(|change| change.run.is_none());
        reserved.any(|it| it.job == Some(job)) || (open && changed.any(|change| change.job == job))
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
    pub fn undo(&mut self, level: usize) -> Vec<JobId> {
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
