//! Why the jobs of a queue or a tenant wait: reasons with the number of lanes behind each.

use super::blocker::Reason;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::shmem::Locked;
use crate::sync::gate_settings::SettingsReader;
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use std::collections::{BTreeMap, HashSet};
use turnstile_scheduler::{GateKind, GateState, LaneSpec, Limit, Step, UnknownGate};

/// Lanes that are looked at. Where there are more, each stands for several.
const MOST: u32 = 10_000;
/// Gates whose settings are read: those that no claim has met since they were set.
const READ_AT_MOST: usize = 1_000;

pub struct Summary {
    /// By reason and gate.
    pub lanes: BTreeMap<(Reason, Option<u8>), u64>,
    /// Not all lanes were looked at.
    pub is_estimate: bool,
}

/// Of the lanes in memory and those outside. `queue` may stand for all queues.
pub fn of(spi: &Spi, job_table: pg_sys::Oid, queue: u64, tenant: Option<u64>) -> Result<Summary> {
    read_settings(spi, job_table, queue, tenant)?;
    when_ready(spi, job_table, |memory| {
        memory.scheduler.advance(server::now())?;
        let (specs, each) = lanes_of(memory, queue, tenant)?;
        let mut lanes = BTreeMap::new();
        for spec in &specs {
            for of in reasons(memory, spec)? {
                *lanes.entry(of).or_default() += u64::from(each);
            }
        }
        let outside = memory.scheduler.lanes_outside_of(queue, tenant)?;
        if outside > 0 {
            lanes.insert((Reason::OutsideMemory, None), outside);
        }
        Ok(Summary {
            lanes,
            is_estimate: each > 1 || outside > 0,
        })
    })
}

fn lanes_of(memory: &Locked, queue: u64, tenant: Option<u64>) -> Step<(Vec<LaneSpec>, u32)> {
    let sample = memory.scheduler.some_lanes(queue, MOST)?;
    let specs = sample.lanes.into_iter().map(|(spec, _)| spec);
    let specs = specs.filter(|spec| tenant.is_none_or(|tenant| tenant == spec.tenant));
    Ok((specs.collect(), sample.each))
}

fn read_settings(spi: &Spi, job_table: pg_sys::Oid, queue: u64, tenant: Option<u64>) -> Result<()> {
    let unread = when_ready(spi, job_table, |memory| {
        let (mut seen, mut unread) = (HashSet::new(), Vec::new());
        for spec in lanes_of(memory, queue, tenant)?.0 {
            let gates = memory.scheduler.unread_gates(&spec)?;
            let gates = gates.iter().flatten().filter(|gate| gate.key != 0);
            let mut new: Vec<UnknownGate> = gates.copied().collect();
            new.retain(|gate| seen.insert((gate.kind, gate.key)));
            if !new.is_empty() && unread.len() < READ_AT_MOST {
                unread.push((spec, new));
            }
        }
        Ok(unread)
    })?;
    let mut settings = SettingsReader::default();
    for (spec, gates) in unread {
        settings.read(spi, job_table, &spec, &gates)?;
    }
    Ok(())
}

fn reasons(memory: &Locked, spec: &LaneSpec) -> Step<Vec<(Reason, Option<u8>)>> {
    let scheduler = &memory.scheduler;
    let mut found = Vec::new();
    for state in scheduler.closed_gates(spec)? {
        found.extend(of_gate(&state).map(|reason| (reason, Some(state.kind as u8))));
    }
    if found.is_empty() {
        found.push((Reason::Behind, Some(GateKind::Queue as u8)));
    }
    let is_attended =
        scheduler.is_claimed_lately(spec.queue)? || memory.waiting.is_attended(spec.queue);
    if !is_attended {
        found.push((Reason::NoWorker, Some(GateKind::Queue as u8)));
    }
    Ok(found)
}

fn of_gate(state: &GateState) -> impl Iterator<Item = Reason> + use<> {
    let full = match state.limit {
        Limit::AtMost(0) => Reason::Paused,
        _ => Reason::of_full(state.kind),
    };
    [
        state.is_full().then_some(full),
        state.paused_until.map(|_| Reason::Paused),
        state.is_out_of_tokens.then_some(Reason::Rate),
    ]
    .into_iter()
    .flatten()
}
