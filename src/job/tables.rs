//! The tables from which memory is built, for code that reads them as a whole or cannot trust what it sees of them.

#![allow(unsafe_code, reason = "looks at open relations")]

use crate::job::gates;
use crate::pg::catalog;
use crate::pg::error::{Result, recreated};
use crate::pg::relation::{Opened, is_own};
use crate::pg::seeded::{Seeded, armed};
use crate::transaction::pending;
use pgrx::pg_sys::{self, Oid};
use std::ffi::CStr;

const JOBS: &CStr = c"job";

/// Locks what is read to rebuild or check the memory. The snapshot must be younger than the locks, or it would not
/// see the rows of a table that was rewritten while its lock was waited for. The jobs must still be those that the
/// memory belongs to.
pub fn lock(job_table: Oid) -> Result<()> {
    if catalog::lock(JOBS, pg_sys::AccessShareLock)? != job_table {
        return Err(recreated());
    }
    for (_, settings) in gates::with_settings() {
        for table in settings.tables() {
            catalog::lock(table, pg_sys::AccessShareLock)?;
        }
    }
    Ok(())
}

/// Has the end of the transaction rebuild the memory if this transaction has created the jobs or rewritten them: what
/// memory learns of them is not true for other transactions, nor for itself if it is undone. Returns whether it has.
///
/// # Safety
/// The jobs must be open.
pub unsafe fn distrust_own(jobs: pg_sys::Relation) -> bool {
    // SAFETY: as the caller says.
    let is_own = unsafe { is_own(jobs) };
    if is_own && !armed(Seeded::TrustNewStorage) {
        // SAFETY: as the caller says.
        pending::note(unsafe { (*jobs).rd_id }, |level| level.rebuild = true);
    }
    is_own
}

/// As [`distrust_own`]; the jobs must be locked.
pub fn distrust_own_jobs(jobs: Oid) -> bool {
    // SAFETY: the relation stays open meanwhile.
    unsafe { distrust_own(Opened::of(jobs).raw()) }
}
