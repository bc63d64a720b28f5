//! The hashes behind the generated columns, and the library's version.

use crate::call::{Call, datum};
use crate::error::{Result, bad_value};
use crate::lane::{Names, account_key, concurrency_key, queue_key, tenant_key};
use pgrx::pg_sys::Datum;

pub fn version(_call: &Call) -> Result<Option<Datum>> {
    Ok(datum(env!("CARGO_PKG_VERSION")))
}

pub fn lane(call: &Call) -> Result<Option<Datum>> {
    let names = Names {
        queue: call.text(0).unwrap_or_default(),
        tenant: call.text(1),
        account: call.text(2),
        session: call.text(3).filter(|_| call.boolean(6) != Some(true)),
        concurrency_key: call.text(4),
    };
    let spec = names.lane(call.int4(5).unwrap_or(0));
    Ok(datum(spec.lane.cast_signed()))
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
