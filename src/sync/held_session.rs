//! Sessions that jobs hold: such a job does not pass its session's gate, so whether that is paused is looked at where it starts.
//!
//! A job of a paused session is passed over like one that another transaction has locked, and its lane is looked at again soon.

use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::Spi;
use crate::pg::tuple::RawRow;
use crate::sync::gate_states;
use pgrx::pg_sys;
use turnstile_scheduler::{GateState, LaneSpec, Limit};

/// Whether a job holds its session, and that is paused.
pub fn is_paused(spi: &Spi, job_table: pg_sys::Oid, job: &RawRow) -> Result<bool> {
    if !job.holds_session() || armed(Seeded::StartInPausedSession) {
        return Ok(false);
    }
    let Some(session) = job.read().held_session else {
        return Ok(false);
    };
    let state = state(spi, job_table, &session)?;
    Ok(state.is_some_and(|state| state.paused_until.is_some()))
}

/// The state of the gate for the job that holds it, given a spec with that gate only: nothing but a pause closes it.
pub fn state(spi: &Spi, job_table: pg_sys::Oid, session: &LaneSpec) -> Result<Option<GateState>> {
    let states = gate_states::of_lane(spi, job_table, session)?;
    Ok(states.into_iter().next().map(|state| GateState {
        limit: Limit::None,
        per_minute: 0.0,
        ..state
    }))
}
