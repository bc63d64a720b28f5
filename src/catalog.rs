//! Finds the extension's own tables.

use crate::error::{Failure, Result};
use pgrx::pg_sys;
use pgrx::prelude::PgSqlErrorCode;

/// The OID of `turnstile.job`.
pub fn job_table() -> Result<pg_sys::Oid> {
    // SAFETY: look-ups in the catalog cache, inside a transaction.
    let table = unsafe {
        let schema = pg_sys::get_namespace_oid(c"turnstile".as_ptr(), true);
        pg_sys::get_relname_relid(c"job".as_ptr(), schema)
    };
    if table == pg_sys::InvalidOid {
        return Err(Failure::new(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            "the table turnstile.job does not exist",
        )
        .detail("The extension was dropped or its tables were renamed.")
        .hint("Run CREATE EXTENSION turnstile."));
    }
    Ok(table)
}
