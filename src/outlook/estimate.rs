//! When a job will start: at the gate that lets the jobs before it through last, by its pace of the last minutes.

use super::blocker::name_of;
use super::counts::{Counts, MOST};
use super::gates;
use super::job::Waiting;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use std::collections::HashMap;
use turnstile_scheduler::{GateKind, GateState, Limit};

const MINUTE: f64 = turnstile_scheduler::times::MINUTE as f64;

pub struct Estimate {
    pub ahead: i64,
    pub is_capped: bool,
    pub starts_per_minute: Option<f64>,
    pub bottleneck: &'static str,
    pub starts_at: Option<i64>,
}

/// The line at one gate.
struct Line {
    kind: GateKind,
    ahead: f64,
    /// None: nothing has started behind it lately.
    per_minute: Option<f64>,
    opens_at: Option<i64>,
    /// Others must end first.
    is_full: bool,
    /// No time opens it, nor the end of a job.
    is_shut: bool,
}

impl Line {
    fn at(state: &GateState, ahead: f64) -> Self {
        let opens_at = opens_at(state);
        let is_shut = opens_at == Some(i64::MAX) || state.limit == Limit::AtMost(0);
        Self {
            kind: state.kind,
            ahead,
            per_minute: pace_of(state).filter(|_| !is_shut),
            opens_at: opens_at.filter(|_| !is_shut),
            is_full: state.is_full(),
            is_shut,
        }
    }

    /// When the job is through, as far as that is known.
    fn passes_at(&self, now: i64) -> i64 {
        let minutes = self.per_minute.map(|pace| (self.ahead + 1.0) / pace);
        // A float that is too large becomes the last time that there is.
        let by_pace = minutes.map(|minutes| now.saturating_add((minutes * MINUTE) as i64));
        by_pace.max(self.opens_at).unwrap_or(now)
    }
}

pub fn of(spi: &Spi, job_table: pg_sys::Oid, job_id: i64) -> Result<Estimate> {
    let job = Waiting::read(spi, job_id)?;
    let states = gates::states(spi, job_table, &job)?;
    let counts = Counts::of(spi, job_table, &job)?;
    let (is_fair, weights) = shares(spi, job_table, &job, &counts)?;
    let lines: Vec<Line> = states
        .iter()
        .filter(|state| is_tight(state))
        .map(|state| {
            let ahead = match state.kind {
                GateKind::Queue if is_fair => counts
                    .at_fair_queue(&job, |tenant| weights.get(&tenant).copied().unwrap_or(1.0)),
                kind => counts.at(&job, kind),
            };
            Line::at(state, ahead)
        })
        .collect();
    Ok(by_lines(&job, &lines, counts.is_capped))
}

/// A gate that is tight is closed most of the time. The queue counts in any case: what it starts is what its workers take.
fn is_tight(state: &GateState) -> bool {
    state.kind == GateKind::Queue || !state.is_open()
}

/// A rate that is set lets no more start than it says, whatever was counted, and as many where it is what jobs wait for.
fn pace_of(state: &GateState) -> Option<f64> {
    let allowed = state
        .rate
        .map(|rate| f64::from(rate.starts) / rate.per as f64 * MINUTE);
    let counted = Some(state.per_minute).filter(|&pace| pace > 0.0);
    match (counted, allowed) {
        (Some(counted), Some(allowed)) => Some(counted.min(allowed)),
        (None, allowed) if state.is_out_of_tokens => allowed,
        (counted, _) => counted,
    }
}

fn opens_at(state: &GateState) -> Option<i64> {
    let token = state.next_token_at.filter(|_| state.is_out_of_tokens);
    state.paused_until.max(token)
}

/// Whether the queue is shared by weight, and the weights of its tenants.
fn shares(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &Waiting,
    counts: &Counts,
) -> Result<(bool, HashMap<u64, f64>)> {
    let mut tenants = counts.tenants();
    tenants.push(job.spec.tenant);
    when_ready(spi, job_table, |memory| {
        let mut weights = HashMap::new();
        for &tenant in &tenants {
            let state = memory.scheduler.gate_state(GateKind::Tenant, tenant)?;
            let weight = state.map_or(1, |state| state.weight.max(1));
            weights.insert(tenant, f64::from(weight));
        }
        Ok((
            memory.scheduler.is_shared_by_weight(job.spec.queue)?,
            weights,
        ))
    })
}

fn by_lines(job: &Waiting, lines: &[Line], is_capped: bool) -> Estimate {
    let now = server::now();
    let shut = lines.iter().rfind(|line| line.is_shut);
    // Where a gate opens at a time, nothing has started until now because of that.
    let opens = lines.iter().any(|line| line.opens_at.is_some());
    let is_stuck = |line: &&Line| line.per_minute.is_none() && (line.is_full || !opens);
    let stuck = shut.or_else(|| lines.iter().rfind(is_stuck));
    let slowest = lines.iter().max_by_key(|line| line.passes_at(now));
    let line = stuck.or(slowest);
    let ahead = line.map_or(0.0, |line| line.ahead);
    let passes_at = slowest
        .filter(|_| stuck.is_none())
        .map(|line| line.passes_at(now));
    Estimate {
        ahead: (ahead.round() as i64).min(MOST),
        is_capped: is_capped || ahead > MOST as f64,
        starts_per_minute: line.and_then(|line| line.per_minute),
        bottleneck: name_of(line.map_or(GateKind::Queue, |line| line.kind)),
        starts_at: passes_at
            .map(|time| time.max(job.run_at))
            .filter(|&time| time < i64::MAX),
    }
}
