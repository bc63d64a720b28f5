//! The hashes behind the generated columns, and the library's version.

use crate::call::{Call, datum};
use crate::error::{Result, bad_value};
use crate::lane::{account_key, concurrency_key, queue_key, session_key, tenant_key};
use pgrx::pg_sys::Datum;

pub fn version(_call: &Call) -> Result<Option<Datum>> {
    Ok(datum(env!("CARGO_PKG_VERSION")))
}

pub fn gate(call: &Call) -> Result<Option<Datum>> {
    let Some(name) = call.text(2) else {
        return Ok(None);
    };
    let key = match call.text(0) {
        Some("queue") => queue_key(name),
        Some("tenant") => tenant_key(name),
        Some("account") => account_key(call.text(1).map_or(0, tenant_key), name),
        Some("concurrency") => concurrency_key(name),
        _ => return Err(bad_value("unknown kind of gate")),
    };
    Ok(datum(key.cast_signed()))
}

pub fn session_gate(call: &Call) -> Result<Option<Datum>> {
    let (Some(queue), Some(session)) = (call.text(0), call.text(2)) else {
        return Ok(None);
    };
    let tenant = call.text(1).map_or(0, tenant_key);
    Ok(datum(
        session_key(queue_key(queue), tenant, session).cast_signed(),
    ))
}
