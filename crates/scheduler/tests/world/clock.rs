//! Time, and what rates and pauses allow: the starts of each gate, checked window by window.

use std::collections::HashMap;

use rand::Rng;
use turnstile_scheduler::{GateKind, GateSettings, Limit, Meter, Picked, Rate, UnknownGate};

use super::arena::At;
use super::table::JobId;
use super::{Checked, World};

type GateKey = (u8, u64);

/// In microseconds: several times the slowest rate's interval.
const LONGEST_WINDOW: i64 = 20_000;

pub struct Clock {
    /// Microseconds.
    pub now: i64,
    /// The time that the scheduler knows of.
    pub advanced: i64,
    history: HashMap<GateKey, Vec<Event>>,
    /// When a gate's bucket was last told of a start or of a rate. It may be told of a start later than the
    /// start was.
    touched: HashMap<GateKey, i64>,
    /// When the memory was last rebuilt, or forgot a gate.
    memory_since: i64,
    /// Since when the rate holds that was last stored for a gate.
    rate_since: HashMap<GateKey, i64>,
}

/// A start, or a rate that came into force.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: i64,
    is_start: bool,
    rate: Option<Rate>,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            now: 1_000_000_000,
            advanced: 1_000_000_000,
            history: HashMap::new(),
            touched: HashMap::new(),
            memory_since: 1_000_000_000,
            rate_since: HashMap::new(),
        }
    }
}

impl Clock {
    /// A start is charged at the time of its pick, maybe after others that were picked later.
    fn note(&mut self, gate: GateKey, event: Event) -> Checked {
        self.touched.insert(gate, self.now);
        let history = self.history.entry(gate).or_default();
        let at = history.partition_point(|other| other.time <= event.time);
        history.insert(at, event);
        let oldest = event.time - LONGEST_WINDOW;
        if history.len() > 100 {
            history.retain(|other| other.time >= oldest);
        }
        let at = history.partition_point(|other| other.time < event.time);
        if event.is_start {
            for end in at..history.len() {
                check_windows(gate, &history[..=end])?;
            }
        }
        Ok(())
    }

    /// When the bucket of a gate was last changed by anything but time.
    fn last_event(&self, gate: GateKey) -> i64 {
        let touched = self.touched.get(&gate).copied();
        touched.unwrap_or(i64::MIN).max(self.memory_since)
    }
}

/// At most burst + rate * t starts lie in any interval of length t that ends with the last event; where the
/// rate changed meanwhile, by the most generous one.
fn check_windows(gate: GateKey, history: &[Event]) -> Checked {
    let Some(last) = history.last() else {
        return Ok(());
    };
    let mut starts = 0;
    let mut rates: Vec<Rate> = Vec::new();
    for event in history.iter().rev() {
        let elapsed = i128::from(last.time - event.time);
        let Some(rate) = event.rate.filter(|_| elapsed < i128::from(LONGEST_WINDOW)) else {
            break;
        };
        if !rates.contains(&rate) {
            rates.push(rate);
        }
        starts += i128::from(event.is_start);
        let burst = rates.iter().map(|it| i128::from(it.burst)).max();
        let brought = |it: &Rate| elapsed * i128::from(it.starts) / i128::from(it.per);
        let brought = rates.iter().map(brought).max();
        if starts > burst.unwrap_or(0) + brought.unwrap_or(0) {
            return Err(format!(
                "{starts} starts within {elapsed} us behind gate {gate:?}: {rates:?}"
            ));
        }
    }
    Ok(())
}

impl World {
    pub fn let_time_pass(&mut self) {
        if self.shape.clocks || self.shape.aging {
            let most = [1, 30, 300][self.rng.random_range(0..3)];
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
            if self.rng.random_bool(0.5) {
                settings.rate_since = self.clock.now;
            }
        }
        if self.shape.clocks && self.rng.random_bool(0.3) {
            settings.paused_until = Some(self.clock.now + self.rng.random_range(-100..3_000));
        }
        settings
    }

    pub fn store_settings(&mut self, gate: &UnknownGate, settings: &GateSettings) -> Checked {
        let key = (gate.kind as u8, gate.key);
        let before = self.tokens_of(key)?;
        if settings.aging > 0 {
            self.begin_dates()?;
        }
        let mut scheduler = self.arena.scheduler();
        let stored = scheduler.set_gate_settings(gate.kind, gate.key, gate.version, settings);
        if !stored.at("set_terms")? {
            self.tally.count("limit read in vain");
            return Ok(());
        }
        let begins = self.begin_rate(key, settings)?;
        match (before, self.tokens_of(key)?) {
            (Some(before), Some(after)) if after > before && !begins => {
                return Err(format!(
                    "a change of {key:?} brought {after} tokens for {before}"
                ));
            }
            _ => {}
        }
        let change = Event {
            time: self.clock.now,
            is_start: false,
            rate: settings.rate,
        };
        self.clock.note((gate.kind as u8, gate.key), change)
    }

    /// Whether a rate began: the windows of the one before end, and the bucket is full if memory has certainly been there since.
    fn begin_rate(&mut self, gate: GateKey, settings: &GateSettings) -> Checked<bool> {
        let since = settings.rate_since;
        let before = self.clock.rate_since.insert(gate, since);
        let Some(rate) = settings.rate.filter(|_| since > before.unwrap_or(i64::MIN)) else {
            return Ok(false);
        };
        let end = Event {
            time: self.clock.now,
            is_start: false,
            rate: None,
        };
        self.clock.note(gate, end)?;
        let tokens = self.tokens_of(gate)?;
        if since == self.clock.now && tokens.is_some_and(|tokens| tokens < rate.burst) {
            return Err(format!(
                "the new rate of {gate:?} begins with {tokens:?} tokens: {rate:?}"
            ));
        }
        self.tally.count(if since == self.clock.now {
            "rate read as it begins"
        } else {
            "rate read since it began"
        });
        Ok(true)
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

    /// Tokens in the bucket of a gate that has a rate.
    fn tokens_of(&mut self, gate: GateKey) -> Checked<Option<u32>> {
        let now = self.clock.now;
        let mut scheduler = self.arena.scheduler();
        scheduler.advance(now).at("advance")?;
        self.clock.advanced = now;
        let meters = self.meters()?;
        let meter = meters.iter().find(|(other, _)| *other == gate);
        let meter = meter.filter(|(_, meter)| meter.rate().is_some() && !meter.is_paused(now));
        Ok(meter.map(|(_, meter)| meter.starts_left(now) + meter.reserved_tokens()))
    }

    fn meters(&mut self) -> Checked<Vec<(GateKey, Meter)>> {
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
                self.clock.note(gate, start)?;
                self.tally.count(match rate {
                    Some(_) => "start behind a rate",
                    None => "start behind no rate",
                });
            }
        }
        Ok(())
    }

    pub fn note_new_memory(&mut self) {
        self.clock.memory_since = self.clock.now;
    }

    /// What time has brought since a bucket last changed is there.
    pub fn check_tokens(&mut self) -> Checked {
        let now = self.clock.now;
        let meters = self.meters()?;
        for &(gate, meter) in &meters {
            let Some(rate) = meter.rate().filter(|_| !meter.is_paused(now)) else {
                continue;
            };
            let elapsed = now.saturating_sub(self.clock.last_event(gate)).max(0);
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
