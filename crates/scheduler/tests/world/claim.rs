//! A claim, step by step, as the server takes it.

use rand::Rng;
use std::rc::Rc;
use turnstile_scheduler::probes::Probes;
use turnstile_scheduler::{GateSettings, Outcome, Pick, Picked, Rate, ReservationId, UnknownGate};

use super::arena::At;
use super::fairness::cost;
use super::known::Known;
use super::overflow::Hunt;
use super::query::Rows;
use super::rebuild::Trust;
use super::table::{JobId, Row, most};
use super::transaction::Reserved;
use super::{Checked, World};

pub struct Claim {
    pub queue: u64,
    /// The queues that a claim from all of them is limited to.
    pub only: Option<Rc<[u64]>>,
    pub wanted: usize,
    pub taken: Vec<JobId>,
    /// Jobs of the picked session that the scheduler knew of at the pick, passed over or not.
    pub session: Vec<(JobId, Row, i32)>,
    /// The rates of the picked lane's gates, as of the pick.
    pub rates: Vec<((u8, u64), Option<Rate>)>,
    /// What was found beside the lanes in memory, where nothing there may run.
    pub hunt: Option<Hunt>,
    pub stage: Stage,
}

pub enum Stage {
    Pick,
    /// Lanes to read that the memory may not have.
    Hunt,
    /// Limits to read, and those read but not yet stored.
    Read(Vec<UnknownGate>, Vec<(UnknownGate, GateSettings)>),
    Snapshot(Picked, Vec<ReservationId>),
    Query(Picked, Vec<ReservationId>, Vec<(JobId, Row)>),
    /// Rows that were taken; a later snapshot tells where the lane goes on.
    Look(Picked, Vec<ReservationId>, Rows),
    Settle(Picked, Vec<ReservationId>, Rows),
}

impl Stage {
    pub fn name(&self) -> &'static str {
        match self {
            Stage::Pick => "claim undone before a pick",
            Stage::Hunt => "claim undone while looking at the tables",
            Stage::Read(..) => "claim undone while reading limits",
            Stage::Snapshot(..) => "claim undone before its snapshot",
            Stage::Query(..) => "claim undone before its query",
            Stage::Look(..) => "claim undone before it looks ahead",
            Stage::Settle(..) => "claim undone before settling",
        }
    }
}

impl World {
    pub fn start_claim(&mut self, at: usize, queue: u64, wanted: usize) {
        self.transactions[at].claim = Some(Claim {
            queue,
            only: None,
            wanted,
            taken: Vec::new(),
            session: Vec::new(),
            rates: Vec::new(),
            hunt: None,
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
                matches!(stage, Stage::Pick | Stage::Hunt | Stage::Read(..))
            }
            (Trust::Stale, Some(stage)) => !matches!(stage, Stage::Settle(..)),
        }
    }

    /// Takes the next step of an open claim; returns the jobs once it has ended.
    pub fn step_claim(&mut self, at: usize) -> Checked<Option<Vec<JobId>>> {
        self.resize_memory()?;
        let Some(mut claim) = self.transactions[at].claim.take() else {
            return Err("no claim is open".into());
        };
        let next = match claim.stage {
            Stage::Pick => {
                let missing = claim.wanted - claim.taken.len();
                let next = self.pick(at, &claim.only, claim.queue, missing, &mut claim.hunt)?;
                if let Some(Stage::Snapshot(picked, _)) = &next {
                    if let Some((lanes, _)) = claim.hunt.as_mut().and_then(|it| it.read.as_mut()) {
                        lanes.retain(|(spec, _)| *spec != picked.spec);
                    }
                    claim.session = self.known_of_session(picked)?;
                    claim.rates = self.rates_of(picked)?;
                }
                next
            }
            Stage::Hunt => {
                if let Some(hunt) = &mut claim.hunt {
                    hunt.read = Some(self.read_part(&hunt.search.part));
                    self.tally.count("part of the tables that a claim looks at");
                }
                Some(Stage::Pick)
            }
            Stage::Read(unread, read) => Some(self.read_limits(unread, read)?),
            Stage::Snapshot(picked, ids) => {
                let rows = self.available_in(&picked);
                Some(Stage::Query(picked, ids, rows))
            }
            Stage::Query(picked, ids, snapshot) => {
                let mut rows = self.query(at, &picked, &ids, &snapshot);
                self.check_session_order(at, &claim.session, &rows)?;
                if self.rng.random_bool(0.3) {
                    self.look_ahead(at, &picked, &mut rows, &snapshot);
                    claim.stage = Stage::Settle(picked, ids, rows);
                    self.transactions[at].claim = Some(claim);
                    return Ok(None);
                }
                Some(
                    match rows.is_worth_a_look(&picked) || self.rng.random_bool(0.5) {
                        true => Stage::Look(picked, ids, rows),
                        false => Stage::Settle(picked, ids, rows),
                    },
                )
            }
            Stage::Look(picked, ids, mut rows) => {
                let ahead = self.available_in(&picked);
                self.look_ahead(at, &picked, &mut rows, &ahead);
                Some(Stage::Settle(picked, ids, rows))
            }
            Stage::Settle(picked, ids, rows) => {
                self.settle(at, &picked, &ids, &rows)?;
                self.advance_share_clock(&picked, rows.taken.len(), &claim.rates)?;
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

    fn pick(
        &mut self,
        at: usize,
        only: &Option<Rc<[u64]>>,
        queue: u64,
        missing: usize,
        hunt: &mut Option<Hunt>,
    ) -> Checked<Option<Stage>> {
        let mut credits = self.credits(at)?;
        let left = self.reservations_left();
        let hidden = self.hidden_sessions();
        self.offer_to(hunt.as_ref(), &credits)?;
        self.check_tokens()?;
        let known = Known::read(&mut self.arena, self.clock.now, &credits, hidden)?
            .with_fairness(&self.fairness)
            .limited_to(only);
        let mut ids = vec![ReservationId::default(); missing];
        let mut scheduler = self.arena.scheduler();
        if let Some(only) = only {
            scheduler.limit_to(only.clone());
            self.tally.count("pick limited to some queues");
        }
        let pick = scheduler
            .pick(queue, self.clock.now, &mut credits, &mut ids)
            .at("pick")?;
        known.check_pick(queue, missing.min(left), &pick)?;
        match pick {
            Pick::Nothing if only.is_some() => Ok(None),
            Pick::Nothing => {
                self.tally.count("pick of nothing");
                *hunt = self.hunt_on(hunt.take(), queue, &credits)?;
                Ok(hunt.as_ref().map(|_| Stage::Hunt))
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
                    self.count_batches(&known, &picked.spec);
                }
                ids.truncate(picked.reserved);
                let mut charged = 0;
                if picked.reserved > 0 && known.is_fair(picked.spec.queue) {
                    if self.fairness.is_full() {
                        self.forget_charges();
                        self.tally.count("shares forgotten");
                    }
                    let weight = known.weight(picked.spec.tenant);
                    charged =
                        self.fairness
                            .serve(&picked.spec, picked.level, weight, picked.reserved);
                    self.tally.count("pick in a fair queue");
                }
                self.note_reserved(at, &picked, &ids, charged);
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

    fn note_reserved(&mut self, at: usize, picked: &Picked, ids: &[ReservationId], charged: u64) {
        if ids.is_empty() {
            return;
        }
        let transaction = &mut self.transactions[at];
        let level = transaction.level;
        transaction.reserved.extend(ids.iter().map(|&id| Reserved {
            id,
            spec: picked.spec,
            job: None,
            charged,
            claimed_at: picked.level,
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
                *allowed = (*allowed).max(most(gate.limit)).max(most(committed.limit));
            }
        }
    }

    /// Reads or stores one limit: what is read may be outdated by the time it is stored.
    fn read_limits(
        &mut self,
        mut unread: Vec<UnknownGate>,
        mut read: Vec<(UnknownGate, GateSettings)>,
    ) -> Checked<Stage> {
        if let Some(gate) = unread.pop() {
            read.push((gate, self.effective_settings(gate.kind, gate.key)));
        } else if let Some((gate, settings)) = read.pop() {
            self.store_settings(&gate, &settings)?;
        }
        Ok(match (unread.is_empty(), read.is_empty()) {
            (true, true) => Stage::Pick,
            _ => Stage::Read(unread, read),
        })
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
        if self.memory != Trust::Stale {
            self.settle_shares(picked, ids, taken.len())?;
        }
        let transaction = &mut self.transactions[at];
        if let Some(position) = hidden {
            self.tally.count("locked job passed over");
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

    fn settle_shares(&mut self, picked: &Picked, ids: &[ReservationId], taken: usize) -> Checked {
        let mut reserved = self.transactions.iter_mut().flat_map(|it| &mut it.reserved);
        let mut is_charged = false;
        for (index, id) in ids.iter().enumerate() {
            let charged = reserved.find(|it| it.id == *id);
            let charged = charged.map_or(0, |it| std::mem::take(&mut it.charged));
            is_charged |= charged > 0;
            if charged > 0 && index >= taken {
                self.fairness.take_back(&picked.spec, picked.level, charged);
                self.tally.count("charge that is taken back");
            }
        }
        self.check_clock(picked, taken, is_charged)
    }

    /// The clock of a fair queue goes on to the last start, unless its tenant's starts end before because others were taken
    /// back, or a tenant waits with a lesser tag, or a key group with the least that its tenant's may become. A pick that is not charged is one from before the shares began again.
    fn check_clock(&mut self, picked: &Picked, taken: usize, is_charged: bool) -> Checked {
        let known = Known::read(&mut self.arena, self.clock.advanced, &[], Vec::new())?
            .with_fairness(&self.fairness);
        let spec = &picked.spec;
        let before = self.fairness.clock(spec, picked.level);
        let scheduler = self.arena.scheduler();
        let clock = scheduler.clock_of(spec.queue, picked.level).at("clock")?;
        if !known.is_fair(spec.queue) {
            return Ok(());
        }
        let further = taken.saturating_sub(1) as u64 * cost(known.weight(spec.tenant));
        let end = self.fairness.end(spec, picked.level);
        let last = before.max(end.min(picked.tag + further));
        let least = known.least_tag(spec, picked.level).unwrap_or(u64::MAX);
        let is_plain = is_charged && spec.concurrency == 0 && known.is_plain(spec, picked.level);
        let is_right = match is_plain && taken > 1 {
            true => clock == last.min(least).max(before),
            false => (before..=last.min(least).max(before)).contains(&clock),
        };
        self.fairness.set_clock(spec, picked.level, clock);
        match is_right {
            true => Ok(()),
            false => Err(format!(
                "{picked:?}: the clock goes from {before} to {clock}, not {last} or {least}"
            )),
        }
    }

    /// What was charged before the shares began again does not matter any more.
    pub fn forget_charges(&mut self) {
        for transaction in &mut self.transactions {
            let reserved = transaction.reserved.iter_mut();
            for reserved in reserved.chain(&mut transaction.returning) {
                reserved.charged = 0;
            }
        }
    }

    pub fn any_wanted(&mut self) -> usize {
        [1, 1, 2, 5][self.rng.random_range(0..4)]
    }
}
