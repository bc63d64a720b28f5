//! Reads all jobs, as a rebuild does. A statement would copy each row several times; here it is read where it is stored.

#![allow(unsafe_code, reason = "scans a table")]

use crate::pg::error::Result;
use crate::pg::relation::Opened;
use crate::pg::snapshot::Snapshot;
use crate::pg::tuple::RawRow;
use pgrx::pg_sys::{self, Oid};
use std::ptr::null_mut;

/// Visits the jobs that a snapshot sees, in the order in which they are stored. They must be locked. Returns false, and
/// visits none, where only a statement knows what there is to see.
pub fn visit_jobs(
    job_table: Oid,
    snapshot: &Snapshot,
    mut visit: impl FnMut(&RawRow) -> Result<()>,
) -> Result<bool> {
    let jobs = Opened::of(job_table);
    if jobs.obstacle().is_some() {
        return Ok(false);
    }
    // SAFETY: the table is open and of the server's own kind, the snapshot is registered, and the slot holds a row while that
    // is visited. After an error the abort closes the scan.
    unsafe {
        let slot = pg_sys::MakeSingleTupleTableSlot(
            (*jobs.raw()).rd_att,
            &raw const pg_sys::TTSOpsBufferHeapTuple,
        );
        let scan = pg_sys::heap_beginscan(
            jobs.raw(),
            snapshot.0,
            0,
            null_mut(),
            null_mut(),
            pg_sys::ScanOptions::SO_TYPE_SEQSCAN
                | pg_sys::ScanOptions::SO_ALLOW_STRAT
                | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE,
        );
        let forward = pg_sys::ScanDirection::ForwardScanDirection;
        while pg_sys::heap_getnextslot(scan, forward, slot) {
            pgrx::check_for_interrupts!();
            visit(&RawRow::of(slot))?;
        }
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        pg_sys::heap_endscan(scan);
    }
    Ok(true)
}
