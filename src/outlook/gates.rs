//! The gates that a job passes, and which of them are closed.

use super::blocker::{Blocker, HOLDER, Reason, name_of};
use super::job::Waiting;
use super::{blocked, holders};
use crate::job::gates;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::Locked;
use crate::sync::gate_settings::{self, SettingsReader};
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, GateState, LaneSpec, Limit, Step};

static IS_PAUSED: Statement = statement!("is_paused", [INT4OID, INT8ARRAYOID]);
static ANCESTOR: Statement = statement!("ancestor_at_gate", [INT8OID, TEXTOID]);

/// The states of the gates of a lane, in the order of their kinds.
pub fn states(spi: &Spi, job_table: pg_sys::Oid, spec: &LaneSpec) -> Result<Vec<GateState>> {
    let mut settings = SettingsReader::default();
    loop {
        let unread = when_ready(spi, job_table, |memory| {
            memory.scheduler.advance(server::now())?;
            memory.scheduler.unread_gates(spec)
        })?;
        let Some(unread) = unread else { break };
        settings.read(spi, job_table, spec, &unread)?;
    }
    let known = when_ready(spi, job_table, |memory| known_states(memory, spec))?;
    let mut states = Vec::with_capacity(known.len());
    for ((kind, key), state) in spec.gates().zip(known) {
        states.push(match state {
            Some(state) => state,
            None => of_settings(spi, spec, kind, key)?,
        });
    }
    Ok(states)
}

fn known_states(memory: &mut Locked, spec: &LaneSpec) -> Step<Vec<Option<GateState>>> {
    let states = spec
        .gates()
        .map(|(kind, key)| memory.scheduler.gate_state(kind, key));
    states.collect()
}

/// A gate that memory does not have: nothing runs behind it.
fn of_settings(spi: &Spi, spec: &LaneSpec, kind: GateKind, key: u64) -> Result<GateState> {
    let settings = gate_settings::of_gate(spi, spec, kind, key)?;
    let now = server::now();
    Ok(GateState {
        kind,
        limit: settings.limit,
        held: 0,
        paused_until: settings.paused_until.filter(|&until| until > now),
        rate: settings.rate,
        is_out_of_tokens: false,
        next_token_at: None,
        per_minute: 0.0,
        weight: settings.weight,
    })
}

/// What a gate holds a job up by.
pub fn blockers(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &Waiting,
    state: &GateState,
) -> Result<Vec<Blocker>> {
    let (kind, name) = (state.kind, job.name(state.kind));
    let mut found = Vec::new();
    if state.is_full() {
        found.push(full(spi, job_table, job, state)?.at(kind, name));
    }
    if armed(Seeded::OverlookMeters) {
        return Ok(found);
    }
    if let Some(until) = state.paused_until {
        found.push(pause(kind, name).until(Some(until)).at(kind, name));
    }
    if state.is_out_of_tokens {
        let rate = Blocker::new(Reason::Rate, rate_of(kind, name, state));
        found.push(rate.until(state.next_token_at).at(kind, name));
    }
    Ok(found)
}

fn full(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting, state: &GateState) -> Result<Blocker> {
    let (kind, name) = (state.kind, job.name(state.kind));
    let slots = match state.limit {
        Limit::AtMost(most) => most,
        Limit::None | Limit::Unknown => u32::MAX,
    };
    if kind == GateKind::Batch
        && slots == 0
        && let Some(closed) = blocked::closed(spi, &job.spec)?
    {
        return Ok(closed);
    }
    if slots == 0 && is_paused(spi, &job.spec, kind)? {
        return Ok(pause(kind, name));
    }
    if let Some(blocker) = own_family(spi, job, state, slots)? {
        return Ok(blocker);
    }
    let reason = Reason::of_full(kind);
    let holder = holders::of_gate(spi, job_table, job, kind)?;
    let detail = match (reason, holder) {
        (Reason::SessionBusy, Some(_)) => format!(
            "{} lets one job run at a time, and that is {HOLDER}: it runs, or waits for another attempt.",
            called(kind, name)
        ),
        (Reason::UniqueRunning, Some(_)) => {
            format!("{} is that of {HOLDER}, which runs.", called(kind, name))
        }
        (Reason::SessionBusy | Reason::UniqueRunning, None) => format!(
            "An open transaction has claimed or ended a job with {}.",
            called(kind, name)
        ),
        _ => format!(
            "{}: {} of {slots} slots are in use.",
            called(kind, name),
            state.held
        ),
    };
    Ok(Blocker {
        running: Some(state.held),
        slots: Some(slots),
        ..Blocker::new(reason, detail).because_of(holder)
    })
}

/// All that is taken up at the gate is taken up by jobs that the job is a descendant of, and which may wait for it.
fn own_family(spi: &Spi, job: &Waiting, state: &GateState, slots: u32) -> Result<Option<Blocker>> {
    let kind = state.kind;
    if armed(Seeded::OverlookFamily) {
        return Ok(None);
    }
    let rows = spi.run(&ANCESTOR, &[datum(job.id), datum(name_of(kind))])?;
    let count = rows.value::<i64>(0, 2).unwrap_or(0);
    if count == 0 || count < i64::from(state.held) {
        return Ok(None);
    }
    let detail = format!(
        "{} is taken up by {HOLDER}, of which this one is a descendant. If that waits for this one in its run, neither goes on: it should call await_children.",
        called(kind, job.name(kind))
    );
    let blocker = Blocker::new(Reason::of_full(kind), detail).because_of(rows.value(0, 1));
    Ok(Some(Blocker {
        running: Some(state.held),
        slots: Some(slots),
        ..blocker
    }))
}

fn pause(kind: GateKind, name: Option<&str>) -> Blocker {
    let detail = format!("{} is paused.", called(kind, name));
    Blocker::new(Reason::Paused, detail)
}

fn rate_of(kind: GateKind, name: Option<&str>, state: &GateState) -> String {
    match state.rate {
        Some(rate) => format!(
            "{} lets {} jobs start in {} seconds.",
            called(kind, name),
            rate.starts,
            rate.per as f64 / server::SECOND as f64
        ),
        None => format!("{} has a rate.", called(kind, name)),
    }
}

fn called(kind: GateKind, name: Option<&str>) -> String {
    let what = match kind {
        GateKind::Queue => "Queue",
        GateKind::Tenant => "Tenant",
        GateKind::Account => "Account",
        GateKind::Session => "Session",
        GateKind::Concurrency => "Concurrency key",
        GateKind::Unique => "Unique key",
        GateKind::Batch => "Batch",
    };
    format!("{what} \"{}\"", name.unwrap_or_default())
}

/// Whether no job may start because of a pause, and not because there are no slots.
fn is_paused(spi: &Spi, spec: &LaneSpec, kind: GateKind) -> Result<bool> {
    let described = gates::of(kind);
    let keys = std::iter::once(spec.key_of(kind)).chain(described.default_keys(spec));
    let keys: Vec<i64> = keys.map(u64::cast_signed).collect();
    let rows = spi.run(
        &IS_PAUSED,
        &[datum(i32::from(described.number)), datum(keys)],
    )?;
    Ok(rows.value(0, 1).unwrap_or(false))
}
