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

const MINUTE: f64 = 60.0 * server::SECOND as f64;

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
    /// None: nothing starts behind it.
    per_minute: Option<f64>,
    opens_at: Option<i64>,
    is_open: bool,
}

impl Line {
    /// Minutes until the job is through; none if nothing moves.
    fn minutes(&self) -> Option<f64> {
        Some((self.ahead + 1.0) / self.per_minute?)
    }
}

pub fn of(spi: &Spi, job_table: pg_sys::Oid, job_id: i64) -> Result<Estimate> {
    let job = Waiting::read(spi, job_id)?;
    let states = gates::states(spi, job_table, &job.spec)?;
    let counts = Counts::of(spi, job_table, &job)?;
    let (is_fair, weights) = shares(spi, job_table, &job, &counts)?;
    let lines: Vec<Line> = states
        .iter()
        .filter(|state| may_be_tight(state))
        .map(|state| Line {
            kind: state.kind,
            ahead: match state.kind {
                GateKind::Queue if is_fair => counts
                    .at_fair_queue(&job, |tenant| weights.get(&tenant).copied().unwrap_or(1.0)),
                kind => counts.at(&job, kind),
            },
            per_minute: pace_of(state),
            opens_at: opens_at(state),
            is_open: state.is_open(),
        })
        .collect();
    Ok(by_lines(&job, &lines, counts.is_capped))
}

/// A gate without a limit holds nothing up. The queue counts in any case: what it starts is what its workers take.
fn may_be_tight(state: &GateState) -> bool {
    state.kind == GateKind::Queue
        || matches!(state.limit, Limit::AtMost(_))
        || state.rate.is_some()
        || !state.is_open()
}

/// A rate that is set lets no more start than it says, whatever was counted.
fn pace_of(state: &GateState) -> Option<f64> {
    let allowed = state
        .rate
        .map(|rate| f64::from(rate.starts) / rate.per as f64 * MINUTE);
    let counted = Some(state.per_minute).filter(|&pace| pace > 0.0);
    match (counted, allowed) {
        (Some(counted), Some(allowed)) => Some(counted.min(allowed)),
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
    // A gate that is open and behind which nothing has started holds nothing up, unless it is the queue.
    let stuck =
        |line: &&Line| line.per_minute.is_none() && (!line.is_open || line.kind == GateKind::Queue);
    let slowest = lines
        .iter()
        .filter(|line| line.per_minute.is_some())
        .max_by(|a, b| {
            a.minutes()
                .partial_cmp(&b.minutes())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    let stuck = lines.iter().rfind(stuck);
    let opens_at = lines.iter().filter_map(|line| line.opens_at).max();
    let line = stuck.or(slowest);
    let ahead = line.map_or(0.0, |line| line.ahead);
    let micros = line.and_then(Line::minutes).map(|minutes| minutes * MINUTE);
    let begins = [Some(job.run_at), opens_at].into_iter().flatten().max();
    let begins = begins.filter(|&time| time < i64::MAX || opens_at.is_none());
    // A float that is too large becomes the last time that there is.
    let starts_at = micros.map(|micros| now.saturating_add(micros as i64));
    let is_endless = opens_at == Some(i64::MAX);
    Estimate {
        ahead: (ahead.round() as i64).min(MOST),
        is_capped: is_capped || ahead > MOST as f64,
        starts_per_minute: line.and_then(|line| line.per_minute),
        bottleneck: name_of(line.map_or(GateKind::Queue, |line| line.kind)),
        starts_at: match (starts_at, begins) {
            _ if is_endless => None,
            (Some(time), begins) => Some(begins.map_or(time, |begins| time.max(begins))),
            (None, _) => None,
        },
    }
}
