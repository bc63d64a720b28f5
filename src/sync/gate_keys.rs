//! SQL functions for the keys of gates that the tables store, and for the library's version.

use crate::job::gates::{self, NO_GATE};
use crate::job::hosts;
use crate::job::lane::{queue_key, session_key, tenant_key};
use crate::pg::call::{Call, arguments, datum};
use crate::pg::catalog;
use crate::pg::error::{Result, bad_value};
use crate::pg::served;
use crate::pg::server;
use crate::pg::trigger::{Moment, Trigger};
use crate::shmem;
use crate::sync::setting_triggers::{Source, trigger_on_settings};
use pgrx::pg_sys::Datum;
use turnstile_scheduler::{GateKind, LaneSpec};

arguments!(gate_key: KIND, SCOPE, NAME);
arguments!(session_gate: QUEUE, TENANT, SESSION);

pub fn version(_call: &Call) -> Result<Option<Datum>> {
    Ok(datum(served::LIBRARY))
}

pub fn gate(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.text(gate_key::NAME) else {
        return Ok(None);
    };
    let kind = call.text(gate_key::KIND);
    let mut known = gates::with_settings().filter(|(_, it)| Some(it.argument) == kind);
    let gate = match known.next() {
        // There is one argument for what its name is scoped to.
        Some((gate, _)) if gate.scope.len() <= 1 => gate,
        _ => return Err(bad_value("unknown kind of gate")),
    };
    let mut scope = LaneSpec::default();
    if let (Some(&kind), Some(name)) = (gate.scope.first(), call.text(gate_key::SCOPE)) {
        *scope.key_mut(kind) = gates::of(kind).key_anywhere(name);
    }
    Ok(datum(gate.key(&scope, name).cast_signed()))
}

pub fn session_gate(call: &Call) -> Result<Option<Datum>> {
    let (Some(queue), Some(session)) = (
        call.text(session_gate::QUEUE),
        call.text(session_gate::SESSION),
    ) else {
        return Ok(None);
    };
    let tenant = call.text(session_gate::TENANT).map_or(0, tenant_key);
    Ok(datum(
        session_key(queue_key(queue), tenant, session).cast_signed(),
    ))
}

/// BEFORE ROW trigger on the tables of settings.
pub fn set_gate(call: &Call) -> Result<Option<Datum>> {
    let (trigger, source) = trigger_on_settings(call, Moment::RowBefore)?;
    let Source { gate, settings, .. } = source;
    let has_rate = source.more.is_none() && gate.kind != GateKind::Session;
    let since = if has_rate {
        rate_since(&trigger)?
    } else {
        None
    };
    let with_gate = |key: Datum| {
        let since = since.map(|since| (c"rate_since", since));
        trigger
            .row_with_columns([Some((c"gate", key)), since])
            .map(Some)
    };
    if gate.kind == GateKind::Batch {
        let id = trigger.new_number(settings.name)?.and_then(datum);
        return id.map_or(Ok(Some(trigger.row_unchanged())), with_gate);
    }
    let mut scope = LaneSpec::default();
    for (&kind, column) in gate.scope.iter().zip(settings.scope) {
        let key = trigger.with_new_text(column, |name| gates::of(kind).key_anywhere(name))?;
        *scope.key_mut(kind) = key.unwrap_or(NO_GATE);
    }
    let key = match source.more.and_then(|more| more.url) {
        Some(url) => trigger
            .with_new_text(url, |url| {
                hosts::key(url).map(|name| gate.key(&scope, &name))
            })?
            .flatten(),
        None => trigger.with_new_text(settings.name, |name| gate.key(&scope, name))?,
    };
    // The table rejects a name that is NULL.
    let Some(gate) = key.and_then(|key| datum(key.cast_signed())) else {
        return Ok(Some(trigger.row_unchanged()));
    };
    with_gate(gate)
}

/// The time at which a rate begins with this change. Memory that is there by then has all starts under it on record.
fn rate_since(trigger: &Trigger) -> Result<Option<Datum>> {
    if !trigger.begins_rate()? {
        return Ok(None);
    }
    // Without memory the rate begins without tokens, when there is some.
    let _ = shmem::with(catalog::job_table()?, |memory| {
        memory.scheduler.advance(server::now())
    });
    Ok(datum(server::now()))
}
