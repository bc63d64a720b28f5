//! A claim, step by step, as the server takes it.

use rand::Rng;
use turnstile_scheduler::{Limit, Outcome, Pick, Picked, ReservationId, UnknownGate};

use super::arena::At;
use super::rebuild::Trust;
use super::rules::Known;
use super::table::{JobId, Row, State, most};
use super::transaction::{Change, Reserved};
use super::{Checked, World};

pub struct Claim {
    pub queue: u64,
    pub wanted: usize,
    pub taken: Vec<JobId>,
    /// Jobs of the picked session that the scheduler knew of at the pick, passed over or not.
    pub session: Vec<(JobId, Row)>,
    pub stage: Stage,
}

pub enum Stage {
    Pick,
    /// Limits to read, and those read but not yet stored.
    Read(Vec<UnknownGate>, Vec<(UnknownGate, Limit)>),
    Snapshot(Picked, Vec<ReservationId>),
    Query(Picked, Vec<ReservationId>, Vec<(JobId, Row)>),
    Settle(Picked, Vec<ReservationId>, Rows),
}

/// What the query returned.
pub struct Rows {
    taken: Vec<(JobId, i64)>,
    seen: Vec<i64>,
    seen_all: bool,
}

impl Stage {
    pub fn name(&self) -> &'static str {
        match self {
            Stage::Pick => "claim undone before a pick",
            Stage::Read(..) => "claim undone while reading limits",
            Stage::Snapshot(..) => "claim undone before its snapshot",
            Stage::Query(..) => "claim undone before its query",
            Stage::Settle(..) => "claim undone before settling",
        }
    }
}

impl World {
    pub fn start_claim(&mut self, at: usize, queue: u64, wanted: usize) {
        self.transactions[at].claim = Some(Claim {
            queue,
            wanted,
            taken: Vec::new(),
            session: Vec::new(),
            stage: Stage::Pick,
        });
    }

    /// Picks wait for a rebuild; rows that were found are settled as soon as there is a memory.
    pub fn claim_must_wait(&self, at: usize) -> bool {
        let stage = self.transactions[at]
            .claim
            .as_ref()
            .map(|claim| &claim.stage);
        match (&self.memory, stage) {
            (Trust::Ready, _) | (_, None) => false,
            (Trust::Rebuilding(_), Some(stage)) => {
                matches!(stage, Stage::Pick | Stage::Read(..))
            }
            (Trust::Stale, Some(stage)) => !matches!(stage, Stage::Settle(..)),
        }
    }

    /// Takes the next step of an open claim; returns the jobs once it has ended.
    pub fn step_claim(&mut self, at: usize) -> Checked<Option<Vec<JobId>>> {
        let Some(mut claim) = self.transactions[at].claim.take() else {
            return Err("no claim is open".into());
        };
        let next = match claim.stage {
            Stage::Pick => {
                let missing = claim.wanted - claim.taken.len();
                let next = self.pick(at, claim.queue, missing)?;
                if let Some(Stage::Snapshot(picked, _)) = &next {
                    claim.session = self.known_of_session(picked)?;
                }
                next
            }
            Stage::Read(unread, read) => Some(self.read_limits(unread, read)?),
            Stage::Snapshot(picked, ids) => {
                let rows = self.available_in(&picked);
                Some(Stage::Query(picked, ids, rows))
            }
            Stage::Query(picked, ids, snapshot) => {
                let rows = self.query(at, &picked, &ids, &snapshot);
                self.check_session_order(at, &claim.session, &rows)?;
                Some(Stage::Settle(picked, ids, rows))
            }
            Stage::Settle(picked, ids, rows) => {
                self.settle(at, &picked, &ids, &rows)?;
                claim.taken.extend(rows.taken.iter().map(|&(job, _)| job));
                (claim.taken.len() < claim.wanted).then_some(Stage::Pick)
            }
        };
        match next {
            Some(stage) => {
                claim.stage = stage;
                self.transactions[at].claim = Some(claim);
                Ok(None)
            }
            None => {
                let hidden = std::mem::take(&mut self.transactions[at].hidden);
                for (spec, position) in hidden.into_iter().filter(|_| self.memory != Trust::Stale) {
                    self.arena
                        .scheduler()
                        .lower(&spec, position)
                        .at("lower after hiding")?;
                }
                Ok(Some(claim.taken))
            }
        }
    }

    fn pick(&mut self, at: usize, queue: u64, missing: usize) -> Checked<Option<Stage>> {
        let mut credits = self.credits(at)?;
        let left = self.reservations_left();
        let hidden = self.hidden_sessions();
        let known = Known::read(&mut self.arena, &credits, hidden)?;
        let mut ids = vec![ReservationId::default(); missing];
        let pick = self
            .arena
            .scheduler()
            .pick(queue, &mut credits, &mut ids)
            .at("pick")?;
        known.check_pick(queue, missing.min(left), &pick)?;
        match pick {
            Pick::Nothing => {
                self.tally.count("pick of nothing");
                Ok(None)
            }
            Pick::Exhausted => {
                self.tally.count("pick with all reservations in use");
                match left {
                    0 => Ok(None),
                    left => Err(format!("exhausted with {left} reservations left")),
                }
            }
            Pick::Unknown(_, gates) => {
                self.tally.count("pick that met an unknown limit");
                let unread = gates.into_iter().filter(|gate| gate.key != 0).collect();
                Ok(Some(Stage::Read(unread, Vec::new())))
            }
            Pick::Lane(picked) => {
                self.tally.count(match picked.reserved {
                    0 => "look at a lane that its session waits for",
                    _ => "pick of a lane",
                });
                if picked.reserved > 0 {
                    self.check_room(&picked, &credits)?;
                }
                ids.truncate(picked.reserved);
                self.note_reserved(at, &picked, &ids);
                let left = self.credits(at)?;
                let same = left
                    .iter()
                    .all(|credit| credits.contains(credit) || credit.count == 0);
                if !same {
                    return Err(format!("credits are {credits:?}, not {left:?}"));
                }
                Ok(Some(Stage::Snapshot(picked, ids)))
            }
        }
    }

    fn hidden_sessions(&self) -> Vec<u64> {
        let hidden = self.transactions.iter().flat_map(|it| &it.hidden);
        hidden
            .map(|(spec, _)| spec.session)
            .filter(|&session| session != 0)
            .collect()
    }

    fn known_of_session(&mut self, picked: &Picked) -> Checked<Vec<(JobId, Row)>> {
        let session = picked.spec.session;
        if session == 0 {
            return Ok(Vec::new());
        }
        let known = Known::read(&mut self.arena, &[], Vec::new())?;
        let rows = self.table.jobs.iter().map(|job| job.row).enumerate();
        let waits = |row: &Row| row.is_available() && row.spec.session == session;
        let passed_over = |row: &Row| {
            let mut open = self.transactions.iter();
            open.any(|it| it.has_passed_over(row.spec.lane, row.position))
        };
        Ok(rows
            .filter(|(_, row)| waits(row) && (known.covers(row) || passed_over(row)))
            .collect())
    }

    /// A session's job does not start before another that waited first, even one that is locked.
    fn check_session_order(&self, at: usize, known: &[(JobId, Row)], rows: &Rows) -> Checked {
        let claimed = |job| self.transactions[at].changes.iter().any(|it| it.job == job);
        let Some(&(job, _)) = rows.taken.first() else {
            return Ok(());
        };
        let taken = self.table.jobs[job].row;
        let overtaken = known.iter().find(|&&(other, row)| {
            (row.spec.priority, row.position) < (taken.spec.priority, taken.position)
                && self.table.jobs[other].row == row
                && !claimed(other)
        });
        match overtaken {
            None => Ok(()),
            Some(other) => Err(format!("{taken:?} overtakes {other:?} of its session")),
        }
    }

    fn note_reserved(&mut self, at: usize, picked: &Picked, ids: &[ReservationId]) {
        if ids.is_empty() {
            return;
        }
        let transaction = &mut self.transactions[at];
        let level = transaction.level;
        transaction.reserved.extend(ids.iter().map(|&id| Reserved {
            id,
            spec: picked.spec,
            job: None,
            level,
        }));
        let scheduler = self.arena.scheduler();
        for slot in scheduler.gate_slots() {
            let Ok(Some(gate)) = scheduler.gate_at(slot) else {
                continue;
            };
            if picked.spec.key_of(gate.kind) == gate.key {
                let key = (gate.kind as u8, gate.key);
                let allowed = transaction.allowed.entry(key).or_default();
                let committed = self.table.limits.in_force(gate.kind, gate.key);
                *allowed = (*allowed).max(most(gate.limit)).max(most(committed));
            }
        }
    }

    /// Reads or stores one limit: what is read may be outdated by the time it is stored.
    fn read_limits(
        &mut self,
        mut unread: Vec<UnknownGate>,
        mut read: Vec<(UnknownGate, Limit)>,
    ) -> Checked<Stage> {
        if let Some(gate) = unread.pop() {
            read.push((gate, self.effective_limit(gate.kind, gate.key)));
        } else if let Some((gate, limit)) = read.pop() {
            let mut scheduler = self.arena.scheduler();
            let stored = scheduler.set_limit(gate.kind, gate.key, gate.version, limit);
            if !stored.at("set_limit")? {
                self.tally.count("limit read in vain");
            }
        }
        Ok(match (unread.is_empty(), read.is_empty()) {
            (true, true) => Stage::Pick,
            _ => Stage::Read(unread, read),
        })
    }

    fn available_in(&self, picked: &Picked) -> Vec<(JobId, Row)> {
        let rows = self.table.jobs.iter().map(|job| job.row).enumerate();
        rows.filter(|(_, row)| is_candidate(row, picked)).collect()
    }

    fn query(
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
        // A query may look further than it has to, and leave out what it took.
        let limit = picked.reserved + [1, 4][self.rng.random_range(0..2)];
        let leaves_out_taken = self.rng.random_bool(0.5);
        let mut seen: Vec<_> = candidates
            .iter()
            .take(limit)
            .map(|(_, row)| row.position)
            .collect();
        let seen_all = candidates.len() < limit;

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
        if leaves_out_taken {
            seen.retain(|position| taken.iter().all(|(_, taken)| taken != position));
        }
        Rows {
            taken,
            seen,
            seen_all,
        }
    }

    fn settle(
        &mut self,
        at: usize,
        picked: &Picked,
        ids: &[ReservationId],
        rows: &Rows,
    ) -> Checked {
        let taken: Vec<_> = rows.taken.iter().map(|&(_, position)| position).collect();
        let mut scheduler = self.arena.scheduler();
        let hidden = match self.memory {
            Trust::Stale => scheduler.settle_stale(ids, &taken).map(|()| None),
            _ => {
                let outcome = Outcome {
                    taken: &taken,
                    seen: &rows.seen,
                    seen_all: rows.seen_all,
                };
                scheduler.settle(picked, ids, outcome)
            }
        }
        .at("settle")?;
        let transaction = &mut self.transactions[at];
        if let Some(position) = hidden {
            self.tally.count("job passed over that somebody has locked");
            transaction.hidden.push((picked.spec, position));
        }
        for (index, id) in ids.iter().enumerate() {
            match rows.taken.get(index) {
                Some(&(job, _)) => {
                    let bound = transaction.reserved.iter_mut().find(|it| it.id == *id);
                    bound.ok_or("a reservation is missing")?.job = Some(job);
                }
                None => transaction.reserved.retain(|it| it.id != *id),
            }
        }
        Ok(())
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

    pub fn any_wanted(&mut self) -> usize {
        [1, 1, 2, 5][self.rng.random_range(0..4)]
    }
}

fn is_candidate(row: &Row, picked: &Picked) -> bool {
    row.is_available() && row.spec.lane == picked.spec.lane && row.position >= picked.head
}

fn may_take(row: &Row, picked: &Picked) -> bool {
    picked.bound.is_none_or(|bound| row.position < bound)
}
