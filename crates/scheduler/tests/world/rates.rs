//! What rates allow: the starts of each gate, checked window by window. A window ends only where no rate was in force by what is
//! committed, however often and by whatever rows it changed meanwhile.

use std::collections::{HashMap, HashSet};

use rand::Rng;
use turnstile_scheduler::{GateKind, GateSettings, LONG_AGO, Rate, UnknownGate};

use super::arena::At;
use super::clock::{BEGINNING, GateKey};
use super::table::{LimitRow, Target};
use super::{Checked, World};

/// In microseconds: several times the slowest rate's interval.
const LONGEST_WINDOW: i64 = 20_000;

pub struct Rates {
    history: HashMap<GateKey, Vec<Event>>,
    /// When a gate's bucket was last told of a start or of a rate. It may be told of a start later than the
    /// start was.
    touched: HashMap<GateKey, i64>,
    /// When a rate was last stored for a gate.
    stored_at: HashMap<GateKey, i64>,
    /// When none was last in force for it.
    none_at: HashMap<GateKey, i64>,
    /// Gates of this memory for which no rate was read last.
    free: HashSet<GateKey>,
    /// Gates of this memory with a bucket.
    metered: HashSet<GateKey>,
    /// When the memory was last rebuilt, or forgot a bucket.
    memory_since: i64,
    /// When the scheduler was last told that a row loses a rate.
    pub lost_at: i64,
}

/// A start, a rate that was stored, or a time at which none was in force.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub time: i64,
    pub is_start: bool,
    pub rate: Option<Rate>,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            history: HashMap::new(),
            touched: HashMap::new(),
            stored_at: HashMap::new(),
            none_at: HashMap::new(),
            free: HashSet::new(),
            metered: HashSet::new(),
            memory_since: BEGINNING,
            lost_at: LONG_AGO,
        }
    }
}

impl Rates {
    /// A start is charged at the time of its pick, maybe after others that were picked later.
    pub fn note(&mut self, gate: GateKey, event: Event, now: i64) -> Checked {
        self.touched.insert(gate, now);
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
    pub fn last_event(&self, gate: GateKey) -> i64 {
        let touched = self.touched.get(&gate).copied();
        touched.unwrap_or(LONG_AGO).max(self.memory_since)
    }

    fn start_over(&mut self, now: i64) {
        self.memory_since = now;
        self.free.clear();
        self.metered.clear();
    }

    /// Notes what was read, after what was known before it has been used.
    fn note_read(&mut self, gate: GateKey, rate: Option<Rate>, now: i64) -> Checked {
        match rate {
            Some(_) => {
                self.stored_at.insert(gate, now);
                self.metered.insert(gate);
                self.free.remove(&gate)
            }
            None => self.free.insert(gate),
        };
        let event = Event {
            time: now,
            is_start: false,
            rate,
        };
        self.note(gate, event, now)
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
    /// Limits are about to change: for some gates none was in force up to now.
    pub fn end_windows(&mut self) {
        if self.shape.clocks {
            self.clock.now += 1;
            self.table.now = self.clock.now;
        }
        let now = self.clock.now;
        let end = Event {
            time: now,
            is_start: false,
            rate: None,
        };
        let limits = &self.table.limits;
        for (&gate, history) in &mut self.rates.history {
            let kind = GateKind::ALL[gate.0 as usize];
            if limits.in_force(kind, gate.1).rate.is_none() {
                let at = history.partition_point(|other| other.time <= now);
                history.insert(at, end);
                self.rates.none_at.insert(gate, now);
            }
        }
    }

    /// What the trigger writes into a row of settings: since when a rate is in force, where the row gets one or inherits again.
    pub fn rate_since(&mut self, target: Target, old: Option<&LimitRow>, new: &LimitRow) -> i64 {
        let had_rate = old.is_some_and(LimitRow::has_rate);
        let had_none = old.is_some_and(|old| !old.inherits_rate && !had_rate);
        match new.has_rate() && !had_rate || new.inherits_rate && had_none {
            true => self.in_force_since(target),
            false => old.map_or(LONG_AGO, |old| old.settings.rate_since),
        }
    }

    /// Since when the rate is in force that is committed; now, if there is none. Sometimes that is not known, as in a catalog
    /// that was made before there was such a column.
    fn in_force_since(&mut self, target: Target) -> i64 {
        let in_force = self.table.limits.of_target(target);
        if in_force.rate.is_some() {
            return in_force.rate_since;
        }
        if self.rng.random_bool(0.2) {
            return LONG_AGO;
        }
        // Memory that is there has all starts on record from now on.
        self.clock.advanced = self.clock.now;
        let _ = self.arena.scheduler().advance(self.clock.now);
        self.clock.now
    }

    /// Tells the scheduler which rates the transaction takes out of rows.
    pub fn lose_rates(&mut self, at: usize) -> Checked {
        let now = self.clock.now;
        let mut scheduler = self.arena.scheduler();
        for change in &self.transactions[at].limits {
            let Some(since) = change.lost_rate else {
                continue;
            };
            self.clock.advanced = now;
            scheduler.advance(now).at("advance")?;
            self.rates.lost_at = now;
            let (kind, key) = match change.target {
                Target::Gate(kind, key) => (kind, Some(key)),
                Target::Default(kind) => (kind, None),
            };
            let kind = GateKind::ALL[kind as usize];
            scheduler.lose_rate(kind, key, since).at("lose_rate")?;
        }
        Ok(())
    }

    pub fn store_settings(&mut self, gate: &UnknownGate, settings: &GateSettings) -> Checked {
        let key = (gate.kind as u8, gate.key);
        self.note_forgotten_buckets()?;
        let before = self.tokens_of(key)?;
        let had_rate = self.has_rate(key)?;
        if settings.aging > 0 {
            self.begin_dates()?;
        }
        let mut scheduler = self.arena.scheduler();
        let stored = scheduler.set_gate_settings(gate.kind, gate.key, gate.version, settings);
        if !stored.at("set_terms")? {
            self.tally.count("limit read in vain");
            return Ok(());
        }
        let after = self.tokens_of(key)?;
        self.check_bucket_is_kept(key, before, after)?;
        self.check_bucket_is_full(key, settings, had_rate, after)?;
        self.rates.note_read(key, settings.rate, self.clock.now)
    }

    /// Reading a rate brings tokens only where none was in force since the one that was stored last.
    fn check_bucket_is_kept(
        &mut self,
        gate: GateKey,
        before: Option<u32>,
        after: Option<u32>,
    ) -> Checked {
        let time = |times: &HashMap<GateKey, i64>| times.get(&gate).copied().unwrap_or(LONG_AGO);
        let may_begin = time(&self.rates.none_at) > time(&self.rates.stored_at);
        match (before, after) {
            (Some(before), Some(after)) if after > before && !may_begin => Err(format!(
                "a change of {gate:?} brought {after} tokens for {before}"
            )),
            (Some(before), Some(after)) if after > before => {
                self.tally.count("bucket filled again");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A rate begins full where the memory has heard of all starts since there was none.
    fn check_bucket_is_full(
        &mut self,
        gate: GateKey,
        settings: &GateSettings,
        had_rate: bool,
        tokens: Option<u32>,
    ) -> Checked {
        let Some(rate) = settings.rate else {
            return Ok(());
        };
        let doubt = self.rates.last_event(gate).max(self.rates.lost_at);
        let is_new = settings.rate_since > doubt && !had_rate;
        let was_free = self.shape.has_ample_gates() && self.rates.free.contains(&gate);
        if !is_new && !was_free {
            return Ok(());
        }
        if tokens.is_some_and(|tokens| tokens < rate.burst) {
            return Err(format!(
                "the new rate of {gate:?} begins with {tokens:?} tokens: {rate:?}"
            ));
        }
        self.tally.count(match was_free {
            true => "rate read where none was read before",
            false => "rate read that began",
        });
        Ok(())
    }

    /// Starts under a rate are not on record any more once its bucket is forgotten, with its gate.
    fn note_forgotten_buckets(&mut self) -> Checked {
        let there: HashSet<GateKey> = self.meters()?.into_iter().map(|(gate, _)| gate).collect();
        if self.rates.metered.iter().any(|gate| !there.contains(gate)) {
            self.tally.count("bucket forgotten");
            self.rates.memory_since = self.clock.now;
            self.rates.metered.retain(|gate| there.contains(gate));
        }
        Ok(())
    }

    fn has_rate(&mut self, gate: GateKey) -> Checked<bool> {
        let mut meters = self.meters()?.into_iter();
        Ok(meters.any(|(other, meter)| other == gate && meter.rate().is_some()))
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

    pub fn note_new_memory(&mut self) {
        self.rates.start_over(self.clock.now);
    }
}
