//! What the scheduler says of its lanes, gates and reservations: for `turnstile.check()`, for views, and for tests.

use crate::gates::settings::UnknownGate;
use crate::memory::gate::{GateKind, Limit};
use crate::memory::lane::LaneSpec;
use crate::memory::meter::Meter;
use crate::memory::outside::{Outside, Round};
use crate::memory::scheduler::Scheduler;
use crate::memory::step::Step;

/// A lane as the scheduler knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneView {
    pub spec: LaneSpec,
    pub level: i32,
    pub head: i64,
}

/// A gate as the scheduler knows it.
#[derive(Clone, Copy, Debug)]
pub struct GateView {
    pub kind: GateKind,
    pub key: u64,
    pub limit: Limit,
    pub held: i32,
    /// For a tenant.
    pub weight: u32,
    /// For a queue.
    pub is_fair: bool,
    pub aging: u32,
    /// Its rate and pause, if it has any.
    pub meter: Option<Meter>,
}

/// What is on record as having lanes outside.
#[derive(Clone, Debug, Default)]
pub struct OutsideView {
    records: Vec<Outside>,
    everything: Round,
}

impl OutsideView {
    /// Whether a lane that is not in memory will be found.
    pub fn has(&self, spec: &LaneSpec) -> bool {
        let is_of = |record: &&Outside| {
            record.queue == spec.queue && (record.is_of_queue || record.tenant == spec.tenant)
        };
        let records = self.records.iter().filter(is_of);
        let mut rounds = records
            .map(|record| &record.round)
            .chain([&self.everything]);
        rounds.any(|round| round.knows(spec.into()))
    }
}

impl Scheduler<'_> {
    pub fn outside_view(&self) -> Step<OutsideView> {
        let mut view = OutsideView {
            everything: self.header.outside.everything,
            ..OutsideView::default()
        };
        for at in self.outside.touched() {
            let record = self.outside.get(at)?;
            if record.id != 0 {
                view.records.push(*record);
            }
        }
        Ok(view)
    }

    /// Slots to ask [`Self::lane_at`] for.
    pub fn lane_slots(&self) -> std::ops::RangeInclusive<u32> {
        self.lanes.touched()
    }

    pub fn lane_at(&self, slot: u32) -> Step<Option<LaneView>> {
        if !self.is_lane(slot)? {
            return Ok(None);
        }
        Ok(Some(LaneView {
            spec: self.spec_of(slot)?,
            level: self.entry(slot)?.level,
            head: self.entry(slot)?.head,
        }))
    }

    /// How many jobs a gate holds, those of open claims included.
    pub fn held_at(&self, kind: GateKind, key: u64) -> Step<i32> {
        match self.find_gate(kind, key)? {
            Some(at) => Ok(self.gate(at)?.held()),
            None => Ok(0),
        }
    }

    /// Whether the settings of a gate are its own, as far as they have been read.
    pub fn has_own_settings(&self, kind: GateKind, key: u64) -> bool {
        let found = self.find_gate(kind, key).ok().flatten();
        let gate = found.and_then(|at| self.gate(at).ok());
        gate.is_some_and(|gate| gate.version != 0 && !gate.is_default())
    }

    /// Slots to ask [`Self::gate_at`] for.
    pub fn gate_slots(&self) -> std::ops::RangeInclusive<u32> {
        self.gates.touched()
    }

    pub fn gate_at(&self, slot: u32) -> Step<Option<GateView>> {
        let gate = self.gate(slot)?;
        if gate.version == 0 {
            return Ok(None);
        }
        Ok(Some(GateView {
            kind: gate.kind,
            key: gate.key,
            limit: gate.limit(),
            held: gate.held(),
            weight: u32::from(gate.weight),
            is_fair: gate.is_fair(),
            aging: self.aging_behind(slot)?,
            meter: self.meter_of(slot)?.copied(),
        }))
    }

    /// The gate, if its settings are not known.
    pub fn unknown_gate_at(&self, slot: u32) -> Step<Option<UnknownGate>> {
        let gate = self.gate(slot)?;
        let is_unknown = gate.version != 0 && gate.limit() == Limit::Unknown;
        Ok(is_unknown.then_some(UnknownGate {
            kind: gate.kind,
            key: gate.key,
            version: gate.version,
        }))
    }

    /// Visits a gate once for every reservation that open transactions hold at it.
    pub fn for_each_reserved_gate(&self, mut visit: impl FnMut(GateKind, u64)) -> Step<()> {
        for at in self.reservations.touched() {
            for (kind, key) in self.held_by_reservation(at)? {
                visit(kind, key);
            }
        }
        Ok(())
    }

    /// Visits each job (lane, position) that an open claim has locked.
    pub fn for_each_job_in_flight(&self, mut visit: impl FnMut(u64, i64)) -> Step<()> {
        for at in self.reservations.touched() {
            if let Some((lane, position)) = self.job_of_reservation(at)? {
                visit(lane, position);
            }
        }
        Ok(())
    }
}
