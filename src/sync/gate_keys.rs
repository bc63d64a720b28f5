//! SQL functions for the keys of gates that the tables store, and for the library's version.

use crate::job::gates::{self, Descriptor, NO_GATE, Settings};
use crate::job::hosts;
use crate::job::lane::{queue_key, session_key, tenant_key};
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Failure, Result, bad_value, listed, quoted};
use crate::pg::served;
use crate::pg::trigger::Moment;
use crate::sync::rate_since;
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
    let found = known().find(|(_, it)| Some(it.argument) == kind);
    let (gate, _) = found.ok_or_else(|| unknown_kind(kind))?;
    let mut scope = LaneSpec::default();
    if let (Some(&kind), Some(name)) = (gate.scope.first(), call.text(gate_key::SCOPE)) {
        *scope.key_mut(kind) = gates::of(kind).key_anywhere(name);
    }
    Ok(datum(gate.key(&scope, name).cast_signed()))
}

/// There is one argument for what a name is scoped to.
fn known() -> impl Iterator<Item = (&'static Descriptor, &'static Settings)> {
    gates::with_settings().filter(|(gate, _)| gate.scope.len() <= 1)
}

fn unknown_kind(given: Option<&str>) -> Failure {
    let known: Vec<&str> = known().map(|(_, settings)| settings.argument).collect();
    let known = listed(&known, "or");
    bad_value("unknown kind of gate")
        .detail(format!(
            "It is {}.",
            given.map_or_else(|| "NULL".into(), quoted)
        ))
        .hint(format!("Use {known}."))
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
    let with_gate = |scope: &LaneSpec, key: u64| {
        let since = match source.more {
            None => rate_since::after(&trigger, gate.kind, scope, key)?,
            Some(_) => None,
        };
        let since = since.map(|since| (c"rate_since", since.and_then(datum)));
        let key = datum(key.cast_signed());
        trigger
            .row_with_columns([Some((c"gate", key)), since])
            .map(Some)
    };
    let mut scope = LaneSpec::default();
    if gate.kind == GateKind::Batch {
        let id = trigger.new_number(settings.name)?.map(i64::cast_unsigned);
        return id.map_or(Ok(Some(trigger.row_unchanged())), |id| {
            with_gate(&scope, id)
        });
    }
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
    match key {
        Some(key) => with_gate(&scope, key),
        None => Ok(Some(trigger.row_unchanged())),
    }
}
