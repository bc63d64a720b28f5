//! What the tables say of lanes that memory does not know.

use super::gates::limit_behind_pause;
use crate::pg::error::Result;
use crate::pg::spi::Spi;
use crate::sync::held_session;
use crate::sync::rebuild::when_ready;
use crate::table::locked::first_free;
use crate::transaction::pending;
use pgrx::pg_sys;
use std::collections::HashMap;
use turnstile_scheduler::{GateKind, GateState, LaneSpec, Limit};

/// Gates and lanes that are looked up at most.
const MOST: usize = 1_000;

pub struct Tables<'s> {
    spi: &'s Spi,
    job_table: pg_sys::Oid,
    /// Of gates without slots.
    limits: HashMap<(GateKind, u64), Option<Limit>>,
    lanes: usize,
    has_paused_sessions: bool,
}

impl<'s> Tables<'s> {
    pub fn of(spi: &'s Spi, job_table: pg_sys::Oid) -> Result<Self> {
        let has_paused_sessions = when_ready(spi, job_table, |memory| {
            Ok(memory.scheduler.may_have_paused_sessions())
        })?;
        Ok(Self {
            spi,
            job_table,
            limits: HashMap::new(),
            lanes: 0,
            has_paused_sessions,
        })
    }

    /// Whether a gate that is paused without end would be full without that.
    pub fn is_full_behind_pause(&mut self, spec: &LaneSpec, state: &GateState) -> Result<bool> {
        if state.limit != Limit::AtMost(0) || state.held == 0 {
            return Ok(false);
        }
        let gate = (state.kind, spec.key_of(state.kind));
        let limit = match self.limits.get(&gate) {
            Some(&known) => known,
            None if self.limits.len() >= MOST => None,
            None => limit_behind_pause(self.spi, spec, state.kind)?,
        };
        self.limits.insert(gate, limit);
        Ok(limit.is_some_and(|limit| GateState { limit, ..*state }.is_full()))
    }

    /// Whether a lane has but jobs that hold sessions, all of which are paused.
    pub fn is_held_by_pauses(&mut self, spec: &LaneSpec, head: i64) -> Result<bool> {
        if !self.has_paused_sessions || self.lanes >= MOST {
            return Ok(false);
        }
        self.lanes += 1;
        let own = pending::with(|pending| pending.own_positions(spec.lane));
        let mut is_any_paused = false;
        let found = first_free(spec, (head, i64::MAX), &own, |job| {
            let is_paused = held_session::is_paused(self.spi, self.job_table, job)?;
            is_any_paused |= is_paused;
            Ok(is_paused)
        })?;
        Ok(is_any_paused && found.is_some_and(|found| found.free.is_none()))
    }
}
