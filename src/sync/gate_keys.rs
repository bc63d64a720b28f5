//! SQL functions for the keys of gates that the tables store, and for the library's version.

use crate::job::lane::{account_key, concurrency_key, queue_key, session_key, tenant_key};
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Result, bad_value};
use crate::pg::trigger::{Moment, Trigger};
use crate::sync::setting_triggers::SETTINGS;
use pgrx::pg_sys::Datum;
use turnstile_scheduler::GateKind;

arguments!(gate_key: KIND, SCOPE, NAME);
arguments!(session_gate: QUEUE, TENANT, SESSION);

pub fn version(_call: &Call) -> Result<Option<Datum>> {
    Ok(datum(env!("CARGO_PKG_VERSION")))
}

pub fn gate(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.text(gate_key::NAME) else {
        return Ok(None);
    };
    let key = match call.text(gate_key::KIND) {
        Some("queue") => queue_key(name),
        Some("tenant") => tenant_key(name),
        Some("account") => account_key(call.text(gate_key::SCOPE).map_or(0, tenant_key), name),
        Some("concurrency") => concurrency_key(name),
        _ => return Err(bad_value("unknown kind of gate")),
    };
    Ok(datum(key.cast_signed()))
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
    let (trigger, kind) = Trigger::of_argument(call, &SETTINGS, Moment::RowBefore)?;
    let tenant = || trigger.with_new_text(c"tenant", tenant_key);
    let key = match kind {
        GateKind::Queue => trigger.with_new_text(c"name", queue_key)?,
        GateKind::Tenant => trigger.with_new_text(c"name", tenant_key)?,
        GateKind::Account => {
            let tenant = tenant()?.unwrap_or(0);
            trigger.with_new_text(c"name", |name| account_key(tenant, name))?
        }
        GateKind::Session => {
            let tenant = tenant()?.unwrap_or(0);
            let queue = trigger.with_new_text(c"queue", queue_key)?.unwrap_or(0);
            trigger.with_new_text(c"session", |name| session_key(queue, tenant, name))?
        }
        _ => trigger.with_new_text(c"key", concurrency_key)?,
    };
    // The table rejects a name that is NULL.
    let Some(gate) = key.and_then(|key| datum(key.cast_signed())) else {
        return Ok(Some(trigger.row_unchanged()));
    };
    trigger.row_with_column(c"gate", gate).map(Some)
}
