//! The states of gates, in memory or by their settings.

use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::spi::Spi;
use crate::shmem::Locked;
use crate::sync::gate_settings::{self, SettingsReader};
use crate::sync::rebuild::when_ready;
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, GateState, LaneSpec, Step, UnknownGate};

/// What memory says of the gates of a lane.
enum Known {
    Unread([UnknownGate; GateKind::ALL.len()]),
    /// None: it does not have the gate.
    States(Vec<Option<GateState>>),
}

/// The states of the gates of a lane, in the order of their kinds.
pub fn of_lane(spi: &Spi, job_table: pg_sys::Oid, spec: &LaneSpec) -> Result<Vec<GateState>> {
    let mut settings = SettingsReader::default();
    let known = loop {
        match when_ready(spi, job_table, |memory| known(memory, spec))? {
            Known::Unread(gates) => settings.read(spi, job_table, spec, &gates)?,
            Known::States(states) => break states,
        }
    };
    let mut states = Vec::with_capacity(known.len());
    for ((kind, key), state) in spec.gates().zip(known) {
        states.push(match state {
            Some(state) => state,
            None => of_settings(spi, spec, kind, key)?,
        });
    }
    Ok(states)
}

fn known(memory: &mut Locked, spec: &LaneSpec) -> Step<Known> {
    memory.scheduler.advance(server::now())?;
    if let Some(unread) = memory.scheduler.unread_gates(spec)? {
        return Ok(Known::Unread(unread));
    }
    let gates = spec.gates();
    let states = gates.map(|(kind, key)| memory.scheduler.gate_state(kind, key));
    states.collect::<Step<_>>().map(Known::States)
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
