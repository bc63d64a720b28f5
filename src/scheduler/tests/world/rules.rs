//! The rules of the design, checked against the tables and against a naive scan.

use std::collections::{HashMap, HashSet};

use turnstile_scheduler::{Credit, EVERY_QUEUE, GateKind, GateView, LaneView, Limit, Pick, Picked};

use super::arena::{Arena, At};
use super::rebuild::Trust;
use super::table::{Row, most};
use super::transaction::{Phase, Transaction};
use super::{Checked, World};

type GateKey = (u8, u64);

/// What the scheduler says of itself.
pub struct Known {
    now: i64,
    lanes: Vec<LaneView>,
    gates: HashMap<GateKey, GateView>,
    credits: Vec<Credit>,
    /// Sessions that may be blocked by a job that somebody has locked.
    blocked: Vec<u64>,
}

impl Known {
    pub fn read(
        arena: &mut Arena,
        now: i64,
        credits: &[Credit],
        blocked: Vec<u64>,
    ) -> Checked<Self> {
        let scheduler = arena.scheduler();
        let mut lanes = Vec::new();
        for slot in scheduler.lane_slots() {
            lanes.extend(scheduler.lane_at(slot).at("lane_at")?);
        }
        let mut gates = HashMap::new();
        for slot in scheduler.gate_slots() {
            if let Some(gate) = scheduler.gate_at(slot).at("gate_at")? {
                gates.insert((gate.kind as u8, gate.key), gate);
            }
        }
        Ok(Self {
            now,
            lanes,
            gates,
            credits: credits.to_vec(),
            blocked,
        })
    }

    /// Whether the scheduler knows that the row's lane has a job at its position or before.
    pub fn covers(&self, row: &Row) -> bool {
        let mut lanes = self.lanes.iter();
        lanes.any(|lane| lane.spec.lane == row.spec.lane && lane.head <= row.position)
    }

    fn room(&self, kind: GateKind, key: u64) -> u32 {
        let Some(gate) = self.gates.get(&(kind as u8, key)) else {
            return u32::MAX;
        };
        let is_it = |credit: &&Credit| credit.kind == kind && credit.key == key;
        let credit = self.credits.iter().find(is_it).map_or(0, |it| it.count);
        let starts = gate.meter.map_or(u32::MAX, |it| it.starts_left(self.now));
        match gate.limit {
            Limit::Unknown => u32::MAX,
            _ => room_left(gate, credit).min(starts),
        }
    }

    fn room_of(&self, lane: &LaneView) -> u32 {
        let rooms = lane.spec.gates().map(|(kind, key)| self.room(kind, key));
        rooms.min().unwrap_or(0)
    }

    /// Whether no lane of the lane's session comes before it; `tie` decides between equals.
    fn is_first_of_session(&self, lane: &LaneView, tie: bool) -> bool {
        self.lanes
            .iter()
            .filter(|it| it.spec.session != 0 && it.spec.session == lane.spec.session)
            .filter(|it| it.spec.lane != lane.spec.lane)
            .all(|it| rank(lane) < rank(it) || (tie && rank(lane) == rank(it)))
    }

    /// Every pick is what a scan over all lanes returns; `wanted` jobs can be reserved.
    pub fn check_pick(&self, queue: u64, wanted: usize, pick: &Pick) -> Checked {
        let of_queue = || self.lanes.iter().filter(|lane| is_asked(lane, queue));
        let eligible = |tie| {
            of_queue()
                .filter(move |lane| self.room_of(lane) > 0 && self.is_first_of_session(lane, tie))
        };
        let open = eligible(false).filter(|lane| !self.blocked.contains(&lane.spec.session));
        let best = open.map(rank).min();
        let picked = match pick {
            Pick::Exhausted => return Ok(()),
            Pick::Nothing => {
                return match best {
                    None => Ok(()),
                    Some(best) => Err(format!("nothing was picked, {best:?} may run")),
                };
            }
            Pick::Unknown(_, gates) => {
                let mut missing = gates.iter().filter(|gate| gate.key != 0);
                let unknown = missing
                    .next()
                    .and_then(|gate| self.gates.get(&(gate.kind as u8, gate.key)));
                return match unknown {
                    Some(gate) if gate.limit == Limit::Unknown => Ok(()),
                    _ => Err("a known limit was asked for".into()),
                };
            }
            Pick::Lane(picked) => picked,
        };
        if picked.reserved == 0 {
            return self.check_look(picked, best);
        }
        let of_picked = eligible(true).find(|lane| lane.spec == picked.spec);
        let lane = of_picked.ok_or_else(|| format!("{picked:?} may not run"))?;
        if lane.head != picked.head || best.is_some_and(|best| best < rank(lane)) {
            return Err(format!("{picked:?} is not the best, {best:?} is"));
        }
        if picked.reserved != wanted.min(self.room_of(lane) as usize) {
            return Err(format!(
                "{picked:?} does not reserve what there is room for"
            ));
        }
        self.check_bound(queue, picked)
    }

    /// A look is asked for at the first lane of a session that waits at a closed gate.
    fn check_look(&self, picked: &Picked, best: Option<(i32, i64)>) -> Checked {
        let mut lanes = self.lanes.iter();
        let lane = lanes.find(|lane| lane.spec == picked.spec);
        let lane = lane.ok_or_else(|| format!("{picked:?} is not known"))?;
        let waits = lane.spec.session != 0
            && self.is_first_of_session(lane, true)
            && self.room(GateKind::Session, lane.spec.session) > 0
            && self.room_of(lane) == 0;
        match waits && best.is_none_or(|best| rank(lane) <= best) {
            true => Ok(()),
            false => Err(format!("{picked:?} needs no look")),
        }
    }

    /// No job may be taken that comes behind the head of another lane that may run, or of a lane of
    /// the same session.
    fn check_bound(&self, queue: u64, picked: &Picked) -> Checked {
        let same_session =
            |lane: &LaneView| picked.spec.session != 0 && lane.spec.session == picked.spec.session;
        let overtaken = self
            .lanes
            .iter()
            .filter(|lane| is_asked(lane, queue))
            .filter(|lane| lane.spec.lane != picked.spec.lane)
            .filter(|lane| lane.spec.priority == picked.spec.priority)
            .filter(|lane| {
                same_session(lane)
                    || !self.blocked.contains(&lane.spec.session)
                        && (self.room_of(lane) > 0 && self.is_first_of_session(lane, false))
            })
            .find(|lane| picked.bound.is_none_or(|bound| bound > lane.head + 1));
        match overtaken {
            None => Ok(()),
            Some(lane) => Err(format!("{picked:?} may overtake {lane:?}")),
        }
    }
}

fn room_left(gate: &GateView, credit: u32) -> u32 {
    let room = i64::from(most(gate.limit)) + i64::from(credit) - i64::from(gate.held);
    u32::try_from(room.max(0)).unwrap_or(u32::MAX)
}

/// Whether a claim from that queue, or from all, may take jobs of the lane.
fn is_asked(lane: &LaneView, queue: u64) -> bool {
    [lane.spec.queue, EVERY_QUEUE].contains(&queue)
}

fn rank(lane: &LaneView) -> (i32, i64) {
    (lane.spec.priority, lane.head)
}

impl World {
    /// All that must hold after every step.
    pub fn check(&mut self) -> Checked {
        if self.memory == Trust::Stale {
            return Ok(());
        }
        if self.shape.audits {
            self.arena.scheduler().audit().at("audit")?;
        }
        if self.memory != Trust::Ready {
            return Ok(());
        }
        let known = Known::read(&mut self.arena, self.clock.now, &[], Vec::new())?;
        self.check_heads(&known)?;
        self.check_held(&known)?;
        self.check_limits(&known)?;
        self.check_put_by(&known)
    }

    /// Rule 2.
    fn check_heads(&mut self, known: &Known) -> Checked {
        if self.has_overflow() {
            return Ok(());
        }
        let heads: HashMap<u64, i64> = known
            .lanes
            .iter()
            .map(|it| (it.spec.lane, it.head))
            .collect();
        for (job, it) in self.table.jobs.iter().enumerate() {
            let Row { spec, position, .. } = it.row;
            let covered = heads.get(&spec.lane).is_some_and(|&head| head <= position);
            if !it.row.is_available() || covered {
                continue;
            }
            let excused = self.transactions.iter().any(|transaction| {
                transaction.will_come_back(job) || transaction.owes_lowering(spec.lane, position)
            });
            if !excused {
                return Err(format!(
                    "job {job} at {position} is hidden by its lane's head {:?}: {spec:?}",
                    heads.get(&spec.lane)
                ));
            }
        }
        Ok(())
    }

    /// Whether memory has no gate to spare.
    pub fn all_gates_are_in_use(&mut self) -> Checked<bool> {
        let known = Known::read(&mut self.arena, self.clock.now, &[], Vec::new())?;
        let gates = known.lanes.iter().flat_map(|lane| lane.spec.gates());
        let used: HashSet<GateKey> = gates.map(|(kind, key)| (kind as u8, key)).collect();
        let mut gates = known.gates.iter();
        let in_use = gates.all(|(key, gate)| gate.held != 0 || used.contains(key));
        Ok(in_use && known.gates.len() + 1 == self.arena.capacity.gates)
    }

    /// Rule 3.
    fn check_held(&mut self, known: &Known) -> Checked {
        let mut expected: HashMap<GateKey, i64> = HashMap::new();
        let running = self
            .table
            .jobs
            .iter()
            .map(|job| job.row)
            .filter(Row::is_running);
        for (kind, key) in running.flat_map(|row| row.spec.gates()) {
            *expected.entry((kind as u8, key)).or_default() += 1;
        }
        self.arena
            .scheduler()
            .for_each_reserved_gate(|kind, key| {
                *expected.entry((kind as u8, key)).or_default() += 1;
            })
            .at("for_each_reserved_gate")?;
        let uncounted = Phase::Committed { counted: false };
        for transaction in self.transactions.iter().filter(|it| it.phase == uncounted) {
            for (&(kind, key), count) in &mut expected {
                *count -= transaction.held_difference(GateKind::ALL[kind as usize], key);
            }
            for &(kind, key) in known.gates.keys() {
                expected.entry((kind, key)).or_insert_with(|| {
                    -transaction.held_difference(GateKind::ALL[kind as usize], key)
                });
            }
        }
        for (key, gate) in &known.gates {
            if i64::from(gate.held) != expected.remove(key).unwrap_or(0) {
                return Err(format!("{gate:?} does not match the tables"));
            }
        }
        match expected.iter().find(|&(_, &count)| count != 0) {
            None => Ok(()),
            Some((gate, count)) => Err(format!("gate {gate:?} should hold {count}, is missing")),
        }
    }

    /// A limit in memory is the table's, unless a callback is about to say otherwise.
    fn check_limits(&self, known: &Known) -> Checked {
        for gate in known.gates.values().filter(|it| it.limit != Limit::Unknown) {
            let stale = !self.agrees(gate);
            let due = |it: &Transaction| {
                matches!(it.phase, Phase::Committed { .. }) && it.invalidates(gate.kind, gate.key)
            };
            if stale && !self.transactions.iter().any(due) {
                return Err(format!("{gate:?} has an outdated limit"));
            }
        }
        Ok(())
    }

    fn agrees(&self, gate: &GateView) -> bool {
        let terms = self.effective_terms(gate.kind, gate.key);
        let rate = gate.meter.and_then(|meter| meter.rate());
        let until = terms.paused_until.unwrap_or(i64::MIN);
        let same_pause = match gate.meter {
            Some(meter) => meter.paused_until() == until,
            None => until <= self.clock.now,
        };
        (gate.limit, rate) == (terms.limit, terms.rate) && same_pause
    }

    /// Tokens are put by only for jobs that claims have not locked yet.
    fn check_put_by(&self, known: &Known) -> Checked {
        for gate in known.gates.values() {
            let put_by = gate.meter.map_or(0, |meter| meter.put_by());
            let open = self.transactions.iter();
            let reserved = open.flat_map(|it| it.reserved.iter().chain(&it.returning));
            let unlocked = reserved
                .filter(|it| it.job.is_none() && it.spec.key_of(gate.kind) == gate.key)
                .count();
            if put_by as usize > unlocked {
                return Err(format!("{gate:?} puts by tokens for nobody"));
            }
        }
        Ok(())
    }

    /// Right after a pick: no gate is taken past its limit.
    pub fn check_room(&mut self, picked: &Picked, credits: &[Credit]) -> Checked {
        let known = Known::read(&mut self.arena, self.clock.now, credits, Vec::new())?;
        for (kind, key) in picked.spec.gates() {
            let Some(gate) = known.gates.get(&(kind as u8, key)) else {
                return Err("a picked lane's gate is missing".into());
            };
            let credit = credits.iter().find(|it| it.kind == kind && it.key == key);
            let held = i64::from(gate.held) - i64::from(credit.map_or(0, |it| it.count));
            if held > i64::from(most(gate.limit)) {
                return Err(format!("{gate:?} was taken past its limit"));
            }
        }
        Ok(())
    }

    /// How many jobs can still be reserved.
    pub fn reservations_left(&self) -> usize {
        let open = |it: &Transaction| it.reserved.len() + it.returning.len();
        let reserved: usize = self.transactions.iter().map(open).sum();
        self.arena.capacity.reservations - 1 - reserved
    }

    /// A commit that raises the number running behind a gate stays within a limit that was in force
    /// since its claims picked. Runs that were started by hand count for nothing.
    pub fn check_admission(&self, at: usize) -> Checked {
        let transaction = &self.transactions[at];
        for (&(kind, key), &allowed) in &transaction.allowed {
            let kind = GateKind::ALL[kind as usize];
            if transaction.admitted(kind, key) <= 0 {
                continue;
            }
            let behind = self.table.jobs.iter().filter(|job| {
                job.row.is_running() && !job.forced && job.row.spec.key_of(kind) == key
            });
            let running = behind.count();
            if running > allowed as usize {
                return Err(format!(
                    "{running} run behind {kind:?} {key}, at most {allowed} may"
                ));
            }
        }
        Ok(())
    }
}
