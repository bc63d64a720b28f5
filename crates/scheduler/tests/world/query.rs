//! What a claim reads and locks in the table.

use rand::Rng;
use turnstile_scheduler::{Picked, ReservationId};

use super::known::Known;
use super::table::{JobId, Row, State};
use super::transaction::Change;
use super::{Checked, World};

/// What a claim took, and where it saw the lane go on: nothing at all if it did not look.
#[derive(Default)]
pub struct Rows {
    pub taken: Vec<(JobId, i64)>,
    pub seen: Vec<i64>,
    pub seen_all: bool,
}

impl Rows {
    /// Whether the claim needs to know where the lane goes on.
    pub fn is_worth_a_look(&self, picked: &Picked) -> bool {
        self.taken.len() < picked.reserved || picked.bound.is_some() || picked.reserved == 0
    }
}

impl World {
    pub fn available_in(&self, picked: &Picked) -> Vec<(JobId, Row)> {
        let rows = self.table.jobs.iter().map(|job| job.row).enumerate();
        rows.filter(|(_, row)| is_candidate(row, picked)).collect()
    }

    pub fn query(
        &mut self,
        at: usize,
        picked: &Picked,
        ids: &[ReservationId],
        snapshot: &[(JobId, Row)],
    ) -> Rows {
        let own = self.transactions[at].id;
        let mut candidates: Vec<(JobId, Row)> = Vec::new();
        // Its own changes are not committed, so not to be claimed.
        for &(job, row) in snapshot {
            let changed_here = self.transactions[at].changes.iter().any(|it| it.job == job);
            if !changed_here {
                candidates.push((job, row));
            }
        }
        candidates.sort_by_key(|(_, row)| row.position);
        let mut taken = Vec::new();
        for (job, row) in candidates {
            if taken.len() == picked.reserved {
                break;
            }
            // SKIP LOCKED, then the check of the newest version of the row.
            let held_by = self.table.jobs[job].lock;
            if held_by.is_some_and(|holder| holder != own) || !may_take(&row, picked) {
                continue;
            }
            let newest = self.transactions[at].view(job, self.table.jobs[job].row);
            if !is_candidate(&newest, picked) || !may_take(&newest, picked) {
                continue;
            }
            let run = ids.get(taken.len()).copied();
            self.change(
                at,
                job,
                Row {
                    state: State::Running,
                    ..newest
                },
                run,
            );
            taken.push((job, newest.position));
        }
        Rows {
            taken,
            ..Rows::default()
        }
    }

    /// Notes the next rows of a snapshot, those that the claim took among them or not.
    pub fn look_ahead(
        &mut self,
        at: usize,
        picked: &Picked,
        rows: &mut Rows,
        snapshot: &[(JobId, Row)],
    ) {
        let with_taken = self.rng.random_bool(0.5);
        let limit = [1, 4, picked.reserved + 1][self.rng.random_range(0..3)];
        let took = |job| rows.taken.iter().any(|&(taken, _)| taken == job);
        // Of its own changes a claim may be unaware, but not of those to a session.
        let unaware = |job| {
            let mut changes = self.transactions[at].changes.iter();
            picked.spec.session == 0 && changes.any(|it| it.job == job)
        };
        let mut ahead: Vec<i64> = snapshot
            .iter()
            .filter(|&&(job, _)| if took(job) { with_taken } else { !unaware(job) })
            .map(|(_, row)| row.position)
            .collect();
        ahead.sort_unstable();
        rows.seen_all = ahead.len() < limit;
        ahead.truncate(limit);
        rows.seen = ahead;
    }

    pub fn known_of_session(&mut self, picked: &Picked) -> Checked<Vec<(JobId, Row, i32)>> {
        let session = picked.spec.session;
        if session == 0 || self.has_overflow() {
            return Ok(Vec::new());
        }
        let known = Known::read(&mut self.arena, self.clock.now, &[], Vec::new())?;
        let rows = self.table.jobs.iter().map(|job| job.row).enumerate();
        let waits = |row: &Row| row.is_available() && row.spec.session == session;
        let passed_over = |row: &Row| {
            let mut open = self.transactions.iter();
            open.any(|it| it.has_passed_over(row.spec.lane, row.position))
        };
        let waiting: Vec<(JobId, Row)> = rows
            .filter(|(_, row)| waits(row) && (known.covers(row) || passed_over(row)))
            .collect();
        let with_level = |(job, row): (JobId, Row)| {
            Ok((job, row, self.level(&row, known.aging(row.spec.queue))?))
        };
        waiting.into_iter().map(with_level).collect()
    }

    /// A session's job does not start before another that waited first, even one that is locked.
    pub fn check_session_order(
        &self,
        at: usize,
        known: &[(JobId, Row, i32)],
        rows: &Rows,
    ) -> Checked {
        let claimed = |job| self.transactions[at].changes.iter().any(|it| it.job == job);
        let Some(&(job, _)) = rows.taken.first().filter(|_| !self.has_far_positions()) else {
            return Ok(());
        };
        let mut waiting = known.iter();
        let Some(&(_, taken, own_level)) = waiting.find(|&&(other, ..)| other == job) else {
            return Ok(());
        };
        let overtaken = known.iter().find(|&&(other, row, level)| {
            (level, row.position) < (own_level, taken.position)
                && self.table.jobs[other].row == row
                && !claimed(other)
        });
        match overtaken {
            None => Ok(()),
            Some(other) => Err(format!("{taken:?} overtakes {other:?} of its session")),
        }
    }

    /// A change by the transaction itself, which locks the row.
    pub fn change(&mut self, at: usize, job: JobId, after: Row, run: Option<ReservationId>) {
        let before = self.transactions[at].view(job, self.table.jobs[job].row);
        self.lock(at, job);
        let transaction = &mut self.transactions[at];
        transaction.changes.push(Change {
            job,
            before,
            after,
            run,
            level: transaction.level,
        });
    }

    pub fn lock(&mut self, at: usize, job: JobId) {
        let transaction = &mut self.transactions[at];
        let lock = &mut self.table.jobs[job].lock;
        if lock.is_none() {
            *lock = Some(transaction.id);
            transaction.locks.push((job, transaction.level));
        }
    }
}

fn is_candidate(row: &Row, picked: &Picked) -> bool {
    row.is_available() && row.spec.lane == picked.spec.lane && row.position >= picked.head
}

fn may_take(row: &Row, picked: &Picked) -> bool {
    picked.bound.is_none_or(|bound| row.position < bound)
}
