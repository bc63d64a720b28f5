//! What memory has at one moment, for `check()`: copied as it is under the lock, and read afterwards.

use crate::pg::error::{Result, no_room};
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::Spi;
use crate::shmem;
use crate::sync::check_times::Times;
use crate::sync::gate_settings::default_settings;
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use std::collections::{HashMap, HashSet};
use turnstile_scheduler::figures::Numbers;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{
    Capacity, Fault, GateKind, GateSettings, GateView, OutsideView, Replica, Scheduler, Step,
};

pub type Gate = (GateKind, u64);

#[derive(Default)]
pub struct MemoryState {
    pub broken: Option<&'static str>,
    pub heads: HashMap<u64, i64>,
    pub gates: HashMap<Gate, (i64, GateSettings)>,
    pub in_flight: HashSet<(u64, i64)>,
    pub outside: OutsideView,
    pub times: Times,
    /// None if the jobs have not been counted.
    pub numbers: Option<Numbers>,
}

/// The state of memory, and a snapshot of the same moment.
pub fn read(spi: &Spi, job_table: pg_sys::Oid) -> Result<(MemoryState, Snapshot)> {
    let mut replica = Replica::default();
    let (numbers, snapshot) = loop {
        let needed = when_ready(spi, job_table, |memory| Ok(memory.scheduler.needed()))?;
        let room = replica.make_room(&needed);
        room.map_err(|_| no_room("a copy of the scheduler", copy_of(&needed)))?;
        let copied = when_ready(spi, job_table, |memory| {
            memory.bring_back(NEVER)?;
            let snapshot = Snapshot::take();
            let is_whole = replica.fill(&memory.scheduler);
            Ok(is_whole.then(|| (memory.figures.numbers(), snapshot)))
        })?;
        if let Some(copied) = copied {
            break copied;
        }
    };
    match state_of(&replica.scheduler(), numbers) {
        Ok(state) => Ok((state, snapshot)),
        // A step that fails has memory built anew.
        Err(fault) => shmem::with(job_table, |_| Err(fault)),
    }
}

fn copy_of(needed: &Capacity) -> String {
    let Capacity { lanes, gates, .. } = needed;
    format!("It has {lanes} lanes and {gates} gates.")
}

fn state_of(scheduler: &Scheduler, numbers: Option<Numbers>) -> Step<MemoryState> {
    let mut state = MemoryState {
        outside: scheduler.outside_view()?,
        times: Times::of(scheduler)?,
        numbers,
        ..MemoryState::default()
    };
    if let Err(fault) = scheduler.audit() {
        state.broken = Some(match fault {
            Fault::Corrupt(what) => what,
            Fault::Full => "full",
        });
    }
    for slot in scheduler.lane_slots() {
        if let Some(lane) = scheduler.lane_at(slot)? {
            state.heads.insert(lane.spec.lane, lane.head);
        }
    }
    for slot in scheduler.gate_slots() {
        if let Some(gate) = scheduler.gate_at(slot)? {
            let held = i64::from(gate.held);
            let settings = settings_of(&gate);
            state.gates.insert((gate.kind, gate.key), (held, settings));
        }
    }
    scheduler.for_each_reserved_gate(|kind, key| {
        if let Some((held, _)) = state.gates.get_mut(&(kind, key)) {
            *held -= 1;
        }
    })?;
    scheduler.for_each_job_in_flight(|lane, position| {
        state.in_flight.insert((lane, position));
    })?;
    Ok(state)
}

fn settings_of(gate: &GateView) -> GateSettings {
    GateSettings {
        limit: gate.limit,
        rate: gate.meter.and_then(|meter| meter.rate()),
        paused_until: gate.meter.map(|meter| meter.paused_until()),
        weight: gate.weight,
        is_fair: gate.is_fair,
        aging: gate.aging,
        ..default_settings(gate.kind)
    }
}
