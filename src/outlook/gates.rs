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
use crate::sync::{gate_states, held_session};
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, GateState, LaneSpec, Limit};

static BEHIND_PAUSE: Statement = statement!("limit_behind_pause", [INT4OID, INT8ARRAYOID]);
static ANCESTOR: Statement = statement!("ancestor_at_gate", [INT8OID, TEXTOID]);

/// The states of the gates of a job, and of the session that it holds.
pub fn states(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting) -> Result<Vec<GateState>> {
    let mut states = gate_states::of_lane(spi, job_table, &job.spec)?;
    if let Some(session) = job.held_session() {
        states.extend(held_session::state(spi, job_table, &session)?);
    }
    Ok(states)
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
    let (shut, behind_pause) = shut(spi, job, state)?;
    if behind_pause.is_full() {
        found.push(full(spi, job_table, job, &behind_pause)?.at(kind, name));
    }
    found.extend(shut.map(|blocker| blocker.at(kind, name)));
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

/// What lets no job through whatever runs, and the gate as it would be without that.
fn shut(spi: &Spi, job: &Waiting, state: &GateState) -> Result<(Option<Blocker>, GateState)> {
    if state.limit != Limit::AtMost(0) {
        return Ok((None, *state));
    }
    let kind = state.kind;
    let behind_pause = limit_behind_pause(spi, &job.spec, kind)?;
    let blocker = match kind {
        GateKind::Batch => blocked::closed(spi, &job.spec)?,
        _ => behind_pause.map(|_| pause(kind, job.name(kind))),
    };
    let limit = match (&blocker, behind_pause) {
        (None, _) => state.limit,
        (Some(_), limit) => limit.unwrap_or(Limit::None),
    };
    Ok((blocker, GateState { limit, ..*state }))
}

fn full(spi: &Spi, job_table: pg_sys::Oid, job: &Waiting, state: &GateState) -> Result<Blocker> {
    let (kind, name) = (state.kind, job.name(state.kind));
    let slots = match state.limit {
        Limit::AtMost(most) => most,
        Limit::None | Limit::Unknown => u32::MAX,
    };
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

/// The limit of a gate that is paused without end, which is no slots in memory. None: it is not.
pub fn limit_behind_pause(spi: &Spi, spec: &LaneSpec, kind: GateKind) -> Result<Option<Limit>> {
    let described = gates::of(kind);
    let keys = std::iter::once(spec.key_of(kind)).chain(described.default_keys(spec));
    let keys: Vec<i64> = keys.map(u64::cast_signed).collect();
    let rows = spi.run(
        &BEHIND_PAUSE,
        &[datum(i32::from(described.number)), datum(keys)],
    )?;
    if rows.value(0, 1) != Some(true) {
        return Ok(None);
    }
    let slots: Option<i32> = rows.value(0, 2);
    let slots = slots.filter(|_| !armed(Seeded::OverlookLimitOfPaused));
    let limit = slots.map(|slots| Limit::AtMost(u32::try_from(slots).unwrap_or(0)));
    Ok(Some(limit.unwrap_or(Limit::None)))
}
