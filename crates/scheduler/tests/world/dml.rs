//! What transactions do between claims: enqueue, finish, lock, and change rows and limits directly.

use rand::Rng;
use turnstile_scheduler::{EVERY_QUEUE, GateKind, LaneSpec, Limit};

use super::table::{JobId, LimitRow, Row, State, Target};
use super::transaction::{LimitChange, Transaction};
use super::{World, shape};

impl World {
    /// As a claim from all queues, but from some of them only.
    pub fn start_limited_claim(&mut self, at: usize, wanted: usize) {
        self.start_claim(at, EVERY_QUEUE, wanted);
        let part = self.rng.random_range(0.0..1.0);
        let meant = (1..=self.shape.queues + 1).filter(|_| self.rng.random_bool(part));
        let meant = meant.collect();
        if let Some(claim) = &mut self.transactions[at].claim {
            claim.only = Some(meant);
        }
    }

    /// One statement of an open transaction that is not claiming.
    pub fn any_statement(&mut self, at: usize) {
        if self.shape.restless && self.rng.random_bool(0.6) {
            return self.change_limit(at);
        }
        match self.rng.random_range(0..100) {
            0..25 => self.enqueue(at),
            25..45 => self.finish_any(at),
            45..65 => {
                let queue = self.shape.any_claimed_queue(&mut self.rng);
                let wanted = self.any_wanted();
                match queue == EVERY_QUEUE && self.rng.random_bool(0.3) {
                    true => self.start_limited_claim(at, wanted),
                    false => self.start_claim(at, queue, wanted),
                }
            }
            65..72 => self.change_limit(at),
            72..78 if self.transactions[at].level < 3 => self.savepoint(at),
            78..82 if self.transactions[at].level > 0 => self.rollback_to_savepoint(at),
            82..86 if self.transactions[at].level > 0 => self.release_savepoint(at),
            86..100 if self.shape.meddling => self.meddle(at),
            _ => {}
        }
    }

    pub fn enqueue(&mut self, at: usize) {
        for _ in 0..self.rng.random_range(1..4) {
            if self.table.live() >= self.shape.jobs {
                return;
            }
            let job = self.table.free_slot();
            let row = Row {
                spec: self.shape.any_spec(&mut self.rng),
                position: self.table.next_position(),
                state: State::Available,
            };
            self.change(at, job, row, None);
        }
    }

    fn finish_any(&mut self, at: usize) {
        for _ in 0..self.rng.random_range(1..4) {
            if let Some((job, _)) = self.any_row(at, Row::is_running) {
                self.finish(at, job);
            }
        }
    }

    /// The room of a run that the scheduler counts may be used by the transaction itself.
    pub fn finish(&mut self, at: usize, job: JobId) {
        let transaction = &self.transactions[at];
        let row = transaction.view(job, self.table.jobs[job].row);
        let mut own = transaction.changes.iter().rev();
        let counted = match own.find(|change| change.job == job) {
            Some(change) => change.run.is_some(),
            None => true,
        };
        if counted {
            let level = transaction.level;
            self.transactions[at].finished.push((row.spec, level));
        }
        self.change(
            at,
            job,
            Row {
                state: State::Absent,
                ..row
            },
            None,
        );
    }

    /// A row of the wanted sort that the transaction sees and no other has locked.
    pub fn any_row(&mut self, at: usize, wanted: impl Fn(&Row) -> bool) -> Option<(JobId, Row)> {
        let transaction = &self.transactions[at];
        // A run that was started by hand is not ended before the scheduler has been told of it: that would be
        // taken for damage and end in a rebuild.
        let unheard: Vec<JobId> = self
            .transactions
            .iter()
            .flat_map(Transaction::unheard_runs)
            .collect();
        let rows: Vec<(JobId, Row)> = self
            .table
            .jobs
            .iter()
            .enumerate()
            .filter(|(_, job)| job.lock.is_none_or(|holder| holder == transaction.id))
            .map(|(id, job)| (id, transaction.view(id, job.row)))
            .filter(|(job, row)| wanted(row) && !unheard.contains(job))
            .collect();
        match rows.len() {
            0 => None,
            count => Some(rows[self.rng.random_range(0..count)]),
        }
    }

    fn meddle(&mut self, at: usize) {
        let lives = |row: &Row| row.state != State::Absent;
        let Some((job, row)) = self.any_row(at, lives) else {
            return;
        };
        let fresh = self.table.next_position();
        let changed = match self.rng.random_range(0..10) {
            0..3 => {
                self.lock(at, job);
                return;
            }
            3 => Row {
                state: State::Absent,
                ..row
            },
            4 => Row {
                state: State::Running,
                ..row
            },
            5 => Row {
                state: State::Available,
                position: fresh,
                ..row
            },
            6 => Row {
                state: State::Available,
                ..row
            },
            7 => Row {
                position: self.any_position(),
                ..row
            },
            8 => Row {
                spec: self.moved(row.spec),
                ..row
            },
            _ => Row {
                spec: self.shape.any_spec(&mut self.rng),
                ..row
            },
        };
        if changed != row {
            self.change(at, job, changed, None);
        }
    }

    /// Positions are unique among all jobs.
    fn any_position(&mut self) -> i64 {
        if self.shape.aging && self.rng.random_bool(0.1) {
            return self.table.far_position(&mut self.rng);
        }
        let fresh = self.table.next_position();
        let position = self.table.earlier_position(&mut self.rng);
        let mut used = self.table.jobs.iter().map(|job| job.row.position);
        let mut pending = self.transactions.iter().flat_map(|it| &it.changes);
        let taken = used.any(|it| it == position)
            || pending.any(|change| change.after.position == position);
        if taken { fresh } else { position }
    }

    /// The same job for another tenant, or with another priority.
    fn moved(&mut self, spec: LaneSpec) -> LaneSpec {
        let other = self.shape.any_spec(&mut self.rng);
        let moved = match self.rng.random_bool(0.5) {
            true => LaneSpec {
                priority: other.priority,
                ..spec
            },
            false => LaneSpec {
                queue: spec.queue,
                priority: spec.priority,
                ..other
            },
        };
        let session = match (moved.session, spec.queue == other.queue) {
            (0, _) => 0,
            (_, true) => moved.session,
            _ => shape::scoped(moved.queue * 8 + moved.tenant, 1),
        };
        shape::lane_of(LaneSpec { session, ..moved })
    }

    pub fn change_limit(&mut self, at: usize) {
        let spec = self.shape.any_spec(&mut self.rng);
        let kinds = [
            GateKind::Queue,
            GateKind::Tenant,
            GateKind::Account,
            GateKind::Concurrency,
            GateKind::Batch,
            GateKind::Session,
        ];
        let sorts = match (self.shape.restless, self.shape.clocks) {
            (true, _) => 4,
            (false, true) => 6,
            (false, false) => 5,
        };
        let kind = kinds[self.rng.random_range(0..sorts)];
        let key = spec.key_of(kind);
        let target = match self.rng.random_range(0..4) {
            0 if !matches!(kind, GateKind::Session | GateKind::Batch) => {
                Target::Default(kind as u8)
            }
            _ if key == 0 => return,
            _ => Target::Gate(kind as u8, key),
        };
        if self.limit_is_locked(target, at) {
            return;
        }
        let value = match self.rng.random_range(0..10) {
            0 => None,
            1 => Some(Limit::None),
            2 => Some(Limit::AtMost(0)),
            _ => Some(Limit::AtMost(self.rng.random_range(1..4))),
        };
        let old = self.row_of_settings(at, target);
        let value = value.map(|limit| self.any_row_of_settings(target, old.as_ref(), limit));
        let lost_rate = old
            .filter(LimitRow::has_rate)
            .map(|old| old.settings.rate_since);
        let lost_rate = lost_rate.filter(|_| !value.is_some_and(|new| new.has_rate()));
        let transaction = &mut self.transactions[at];
        transaction.limits.push(LimitChange {
            target,
            value,
            lost_rate,
            level: transaction.level,
        });
    }
    /// The row as the transaction sees it.
    fn row_of_settings(&self, at: usize, target: Target) -> Option<LimitRow> {
        let mut own = self.transactions[at].limits.iter().rev();
        match own.find(|change| change.target == target) {
            Some(change) => change.value,
            None => self.table.limits.rows.get(&target).copied(),
        }
    }

    fn any_row_of_settings(
        &mut self,
        target: Target,
        old: Option<&LimitRow>,
        limit: Limit,
    ) -> LimitRow {
        let (Target::Gate(kind, _) | Target::Default(kind)) = target;
        let settings = self.any_settings(GateKind::ALL[kind as usize], limit);
        let is_default = matches!(target, Target::Default(_));
        let mut row = LimitRow {
            settings,
            inherits_rate: !is_default && settings.rate.is_none() && self.rng.random_bool(0.5),
        };
        row.settings.rate_since = self.rate_since(target, old, &row);
        row
    }
}
