//! Why the jobs of a queue or a tenant wait: reasons with the number of lanes behind each.

use super::blocker::Reason;
use super::lane_tables::Tables;
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

/// What memory says of a lane.
struct Lane {
    spec: LaneSpec,
    head: i64,
    closed: Vec<GateState>,
    is_attended: bool,
}

/// Of the lanes in memory and those outside. `queue` may stand for all queues.
pub fn of(spi: &Spi, job_table: pg_sys::Oid, queue: u64, tenant: Option<u64>) -> Result<Summary> {
    read_settings(spi, job_table, queue, tenant)?;
    let mut tables = Tables::of(spi, job_table)?;
    let (found, each, outside) = when_ready(spi, job_table, |memory| {
        memory.scheduler.advance(server::now())?;
        let (lanes, each) = lanes_of(memory, queue, tenant)?;
        let lanes = lanes.into_iter().map(|lane| look(memory, lane));
        let outside = memory.scheduler.lanes_outside_of(queue, tenant)?;
        Ok((lanes.collect::<Step<Vec<Lane>>>()?, each, outside))
    })?;
    let mut lanes = BTreeMap::new();
    for lane in &found {
        for of in reasons(&mut tables, lane)? {
            *lanes.entry(of).or_default() += u64::from(each);
        }
    }
    if outside > 0 {
        lanes.insert((Reason::OutsideMemory, None), outside);
    }
    Ok(Summary {
        lanes,
        is_estimate: each > 1 || outside > 0,
    })
}

fn look(memory: &Locked, (spec, head): (LaneSpec, i64)) -> Step<Lane> {
    let scheduler = &memory.scheduler;
    Ok(Lane {
        spec,
        head,
        closed: scheduler.closed_gates(&spec)?,
        is_attended: scheduler.is_claimed_lately(spec.queue)?
            || memory.waiting.is_attended(spec.queue),
    })
}

fn lanes_of(memory: &Locked, queue: u64, tenant: Option<u64>) -> Step<(Vec<(LaneSpec, i64)>, u32)> {
    let sample = memory.scheduler.some_lanes(queue, MOST)?;
    let mut lanes = sample.lanes;
    lanes.retain(|(spec, _)| tenant.is_none_or(|tenant| tenant == spec.tenant));
    Ok((lanes, sample.each))
}

fn read_settings(spi: &Spi, job_table: pg_sys::Oid, queue: u64, tenant: Option<u64>) -> Result<()> {
    let unread = when_ready(spi, job_table, |memory| {
        memory.bring_back(server::now())?;
        let (mut seen, mut unread) = (HashSet::new(), Vec::new());
        for (spec, _) in lanes_of(memory, queue, tenant)?.0 {
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

fn reasons(tables: &mut Tables, lane: &Lane) -> Result<Vec<(Reason, Option<u8>)>> {
    let of = |kind: GateKind, reason| (reason, Some(kind as u8));
    let mut found = Vec::new();
    for state in &lane.closed {
        let is_full = tables.is_full_behind_pause(&lane.spec, state)?;
        let full = is_full.then_some(Reason::of_full(state.kind));
        found.extend(
            full.into_iter()
                .chain(of_gate(state))
                .map(|it| of(state.kind, it)),
        );
    }
    if found.is_empty() {
        found.push(match tables.is_held_by_pauses(&lane.spec, lane.head)? {
            true => of(GateKind::Session, Reason::Paused),
            false => of(GateKind::Queue, Reason::Behind),
        });
    }
    if !lane.is_attended {
        found.push(of(GateKind::Queue, Reason::NoWorker));
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
