//! Time, and what its passing brings: tokens, and ends of pauses.

use std::collections::HashMap;

use rand::Rng;
use turnstile_scheduler::{GateKind, GateSettings, Limit, Meter, Picked, Rate};

use super::arena::At;
use super::rates::Event;
use super::table::JobId;
use super::{Checked, World};

pub type GateKey = (u8, u64);

pub const BEGINNING: i64 = 1_000_000_000;

#[derive(Debug)]
pub struct Clock {
    /// Microseconds.
    pub now: i64,
    /// The time that the scheduler knows of.
    pub advanced: i64,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            now: BEGINNING,
            advanced: BEGINNING,
        }
    }
}

impl World {
    pub fn let_time_pass(&mut self) {
        if self.shape.clocks || self.shape.aging {
            let longest = if self.shape.restless { 40 } else { 300 };
            let most = [1, 30, longest][self.rng.random_range(0..3)];
            self.clock.now += self.rng.random_range(0..most);
            self.table.now = self.clock.now;
        }
    }

    /// All pauses end and all buckets are full.
    pub fn let_much_time_pass(&mut self) {
        self.clock.now += 1_000_000;
        self.table.now = self.clock.now;
    }

    /// Limits with or without a rate and a pause.
    pub fn any_settings(&mut self, kind: GateKind, limit: Limit) -> GateSettings {
        let mut settings = GateSettings::from(limit);
        if self.shape.fairness && kind == GateKind::Tenant {
            settings.weight = self.rng.random_range(1..=4);
        }
        if self.shape.fairness && kind == GateKind::Queue {
            settings.is_fair = self.rng.random_bool(0.8);
        }
        if self.shape.aging && kind == GateKind::Queue {
            settings.aging = [0, 1, 2, 7][self.rng.random_range(0..4)];
        }
        if self.shape.clocks && self.rng.random_bool(0.4) {
            settings.rate = Some(Rate {
                starts: self.rng.random_range(1..=3),
                burst: self.rng.random_range(1..=4),
                per: [40, 700, 7_777][self.rng.random_range(0..3)],
            });
        }
        if self.shape.clocks && self.rng.random_bool(0.3) {
            settings.paused_until = Some(self.clock.now + self.rng.random_range(-100..3_000));
        }
        settings
    }

    /// Tells the scheduler the settings of all gates that it has.
    pub fn read_all_terms(&mut self) -> Checked {
        let mut unread = Vec::new();
        let mut scheduler = self.arena.scheduler();
        scheduler.advance(self.clock.now).at("advance")?;
        self.clock.advanced = self.clock.now;
        for slot in scheduler.gate_slots() {
            if let Some(gate) = scheduler.unknown_gate_at(slot).at("unknown_gate_at")? {
                unread.push(gate);
            }
        }
        for gate in unread {
            let settings = self.effective_settings(gate.kind, gate.key);
            self.store_settings(&gate, &settings)?;
        }
        Ok(())
    }

    pub fn meters(&mut self) -> Checked<Vec<(GateKey, Meter)>> {
        let scheduler = self.arena.scheduler();
        let mut meters = Vec::new();
        for slot in scheduler.gate_slots() {
            let view = scheduler.gate_at(slot).at("gate_at")?;
            if let Some((gate, meter)) = view.and_then(|it| Some((it, it.meter?))) {
                meters.push(((gate.kind as u8, gate.key), meter));
            }
        }
        Ok(meters)
    }

    pub fn starts_left(&mut self) -> Checked<HashMap<GateKey, u32>> {
        let now = self.clock.now;
        let meters = self.meters()?.into_iter();
        Ok(meters
            .map(|(gate, meter)| (gate, meter.starts_left(now)))
            .collect())
    }

    /// Whether a job is behind a rate whose bucket memory does not have: it will begin empty.
    pub fn has_unmetered_rate(&mut self, jobs: &[JobId]) -> Checked<bool> {
        let metered: HashMap<GateKey, Meter> = self.meters()?.into_iter().collect();
        let mut gates = jobs
            .iter()
            .flat_map(|&job| self.table.jobs[job].row.spec.gates());
        Ok(gates.any(|(kind, key)| {
            let has_rate = self.effective_settings(kind, key).rate.is_some();
            has_rate && !metered.contains_key(&(kind as u8, key))
        }))
    }

    pub fn rates_of(&mut self, picked: &Picked) -> Checked<Vec<(GateKey, Option<Rate>)>> {
        let meters: HashMap<GateKey, Meter> = self.meters()?.into_iter().collect();
        let rate = |gate: &GateKey| meters.get(gate).and_then(Meter::rate);
        let gates = picked.spec.gates().map(|(kind, key)| (kind as u8, key));
        Ok(gates.map(|gate| (gate, rate(&gate))).collect())
    }

    /// Jobs have started behind the gates, whatever becomes of them.
    pub fn advance_share_clock(
        &mut self,
        picked: &Picked,
        count: usize,
        rates: &[(GateKey, Option<Rate>)],
    ) -> Checked {
        for &(gate, rate) in rates {
            for _ in 0..count {
                let start = Event {
                    time: picked.now,
                    is_start: true,
                    rate,
                };
                self.rates.note(gate, start, self.clock.now)?;
                self.tally.count(match rate {
                    Some(_) => "start behind a rate",
                    None => "start behind no rate",
                });
            }
        }
        Ok(())
    }

    /// What time has brought since a bucket last changed is there.
    pub fn check_tokens(&mut self) -> Checked {
        let now = self.clock.now;
        let meters = self.meters()?;
        for &(gate, meter) in &meters {
            let Some(rate) = meter.rate().filter(|_| !meter.is_paused(now)) else {
                continue;
            };
            let elapsed = now.saturating_sub(self.rates.last_event(gate)).max(0);
            let brought = i128::from(elapsed) * i128::from(rate.starts) / i128::from(rate.per);
            let least = brought.min(i128::from(rate.burst)) - i128::from(meter.reserved_tokens());
            if i128::from(meter.starts_left(now)) < least {
                return Err(format!("{meter:?} of {gate:?} is short of {least} tokens"));
            }
            if meter.starts_left(now) == 0 {
                self.tally.count("pick while a bucket was empty");
            }
        }
        let paused = |(kind, _): &GateKey, meter: &Meter| {
            *kind == GateKind::Session as u8 && meter.is_paused(now)
        };
        if meters.iter().any(|(gate, meter)| paused(gate, meter)) {
            self.tally.count("pick while a session was paused");
        }
        Ok(())
    }
}
