//! Finds the extension's own tables.

use crate::call::datum;
use crate::error::{Failure, Result, internal};
use pgrx::pg_sys;
use pgrx::prelude::PgSqlErrorCode;
use std::ffi::CStr;

/// The OID of `turnstile.job`.
pub fn job_table() -> Result<pg_sys::Oid> {
    relation(c"job")
}

/// The OID of a table, index or sequence of the schema.
pub fn relation(name: &CStr) -> Result<pg_sys::Oid> {
    // SAFETY: look-ups in the catalog cache, inside a transaction.
    let found = unsafe {
        let schema = pg_sys::get_namespace_oid(c"turnstile".as_ptr(), true);
        pg_sys::get_relname_relid(name.as_ptr(), schema)
    };
    if found == pg_sys::InvalidOid {
        return Err(Failure::new(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("turnstile.{} does not exist", name.to_string_lossy()),
        )
        .detail("The extension was dropped or what belongs to it was renamed.")
        .hint("Run CREATE EXTENSION turnstile."));
    }
    Ok(found)
}

/// The next number of a sequence of the schema.
pub fn next_number(sequence: &CStr) -> Result<i64> {
    let sequence = relation(sequence)?;
    // SAFETY: the function takes the OID of a sequence.
    let number: Option<i64> =
        unsafe { pgrx::direct_function_call(pg_sys::nextval_oid, &[datum(sequence)]) };
    number.ok_or_else(|| internal("a sequence gave no number"))
}

/// The last number that a sequence of the schema gave; none if it gave none yet.
pub fn last_number(sequence: &CStr) -> Result<Option<i64>> {
    let sequence = relation(sequence)?;
    // SAFETY: the function takes the OID of a sequence.
    Ok(unsafe { pgrx::direct_function_call(pg_sys::pg_sequence_last_value, &[datum(sequence)]) })
}
