//! The rules of the design, checked against the tables.

use std::collections::{HashMap, HashSet};

use turnstile_scheduler::probes::Probes;
use turnstile_scheduler::{Credit, EVERY_QUEUE, GateKind, GateView, Limit, Picked};

use super::arena::At;
use super::known::{GateKey, Known};
use super::rebuild::Trust;
use super::table::{Row, most};
use super::transaction::{Phase, Transaction};
use super::{Checked, World};

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
        self.check_barren()?;
        self.check_held(&known)?;
        self.check_limits(&known)?;
        self.check_levels(&known)?;
        self.check_put_by(&known)
    }

    /// Rule 2.
    fn check_heads(&mut self, known: &Known) -> Checked {
        let heads: HashMap<u64, i64> = known
            .lanes
            .iter()
            .map(|it| (it.spec.lane, it.head))
            .collect();
        for (job, it) in self.table.jobs.iter().enumerate() {
            let Row { spec, position, .. } = it.row;
            let head = heads.get(&spec.lane);
            if !it.row.is_available() {
                continue;
            }
            let covered = match head {
                Some(&head) => head <= position,
                None => self
                    .arena
                    .scheduler()
                    .is_on_record(&spec)
                    .at("is_on_record")?,
            };
            if covered {
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

    /// Of what was searched in vain nothing that memory lacks may run. What a session holds back does not count.
    fn check_barren(&mut self) -> Checked {
        let known = Known::read(&mut self.arena, self.clock.advanced, &[], Vec::new())?;
        let scheduler = self.arena.scheduler();
        if !scheduler.has_lanes_outside() {
            return Ok(());
        }
        for (job, it) in self.table.jobs.iter().enumerate() {
            let row = it.row;
            let is_missing = row.is_available() && row.spec.session == 0 && !known.covers(&row);
            let excused = self.transactions.iter().any(|transaction| {
                transaction.will_come_back(job)
                    || transaction.owes_lowering(row.spec.lane, row.position)
            });
            if !is_missing || excused || !known.has_room(&row.spec) {
                continue;
            }
            for queue in [row.spec.queue, EVERY_QUEUE] {
                if scheduler.is_given_up(&row.spec, queue).at("is_given_up")? {
                    return Err(format!("{row:?} may run, but was given up"));
                }
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
        let settings = self.effective_settings(gate.kind, gate.key);
        let rate = gate.meter.and_then(|meter| meter.rate());
        let until = settings.paused_until.unwrap_or(i64::MIN);
        let same_pause = match gate.meter {
            Some(meter) => meter.paused_until() == until,
            None => until <= self.clock.now,
        };
        let share = (gate.weight, gate.is_fair, gate.aging)
            == (settings.weight, settings.is_fair, settings.aging);
        (gate.limit, rate) == (settings.limit, settings.rate) && same_pause && share
    }

    /// Tokens are set aside only for jobs that claims have not locked yet.
    fn check_put_by(&self, known: &Known) -> Checked {
        for gate in known.gates.values() {
            let reserved_tokens = gate.meter.map_or(0, |meter| meter.reserved_tokens());
            let open = self.transactions.iter();
            let reserved = open.flat_map(|it| it.reserved.iter().chain(&it.returning));
            let unlocked = reserved
                .filter(|it| it.job.is_none() && it.spec.key_of(gate.kind) == gate.key)
                .count();
            if reserved_tokens as usize > unlocked {
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
