//! The count of the backlogs with a bound: one pass over the jobs, after which the numbers in memory are trusted.

use super::bounds::read;
use crate::job::lane::{queue_key, tenant_key};
use crate::job::tables;
use crate::pg::error::Result;
use crate::pg::server;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem::{self, KINDS, Locked};
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys::Oid;
use turnstile_scheduler::GateKind;

static LISTED: Statement = statement!("bounds_listed", []);
static WAITING: Statement = statement!("count_waiting", []);

/// Rows that are fetched at once, and counted while the lock is held once.
const BATCH: i64 = 1_000;

/// Counts the backlogs that have a bound, in one pass over the jobs. Producers, claims and all else go on meanwhile.
pub fn count(job_table: Oid) -> Result<()> {
    // There the pass would make transactions fail that change jobs meanwhile.
    if server::is_serializable() {
        return Ok(());
    }
    tables::lock(job_table)?;
    if tables::distrust_own_jobs(job_table) {
        return Ok(());
    }
    read(|spi| count_with(spi, job_table)).map(|_| ())
}

/// Counts the backlogs again, if they were counted before.
pub fn count_anew(job_table: Oid) -> Result<()> {
    match shmem::with(job_table, |memory| Ok(memory.backlog.forget_count()))? {
        true => count(job_table),
        false => Ok(()),
    }
}

fn count_with(spi: &Spi, job_table: Oid) -> Result<()> {
    let mut listed = Vec::new();
    let mut counts_all = [false; 2];
    spi.scan(&LISTED, &[], &Snapshot::take(), BATCH, |rows| {
        for row in 0..rows.len() {
            let kind: i32 = rows.required(row, 1)?;
            let nth = usize::try_from(kind).unwrap_or(0);
            let key: i64 = rows.required(row, 2)?;
            if rows.required(row, 3)?
                && let Some(all) = counts_all.get_mut(nth)
            {
                *all = true;
            } else if let Some(&kind) = KINDS.get(nth) {
                listed.push((kind, key.cast_unsigned()));
            }
        }
        Ok(())
    })?;
    let begun = shmem::with(job_table, |memory| Ok(begin(memory, &listed, counts_all)))?;
    let Some((snapshot, generation)) = begun else {
        return Ok(());
    };
    pending::begin(job_table, Work::Count(generation));
    scan_waiting(spi, &snapshot, &mut |jobs| {
        shmem::with(job_table, |memory| {
            memory.make_room_for_names(jobs.len());
            Ok(memory.backlog.count(generation, jobs))
        })
        .map(|_| ())
    })?;
    shmem::with(job_table, |memory| {
        memory.backlog.end_count(generation);
        Ok(())
    })?;
    pending::end();
    Ok(())
}

/// Nothing if another backend has begun meanwhile.
fn begin(
    memory: &mut Locked,
    listed: &[(GateKind, u64)],
    counts_all: [bool; 2],
) -> Option<(Snapshot, u64)> {
    if !memory.backlog.needs_count() {
        return None;
    }
    let snapshot = Snapshot::take();
    memory.make_room_for_names(listed.len());
    let generation = (memory.backlog).begin_count(listed, counts_all, snapshot.horizon());
    Some((snapshot, generation))
}

/// How many jobs of a queue or tenant wait.
type Waiting = (GateKind, u64, i64);

/// Visits how many jobs wait, by queue and tenant; a name may come several times.
pub fn scan_waiting(
    spi: &Spi,
    snapshot: &Snapshot,
    visit: &mut dyn FnMut(&[Waiting]) -> Result<()>,
) -> Result<()> {
    spi.scan(&WAITING, &[], snapshot, BATCH, |rows| {
        visit(&waiting(rows)?)
    })
}

fn waiting(rows: &Rows) -> Result<Vec<Waiting>> {
    let mut waiting = Vec::with_capacity(2 * rows.len());
    for row in 0..rows.len() {
        let (queue, tenant): (&str, Option<&str>) = (rows.required(row, 1)?, rows.value(row, 2));
        let jobs: i64 = rows.required(row, 3)?;
        waiting.push((GateKind::Queue, queue_key(queue), jobs));
        waiting.extend(tenant.map(|name| (GateKind::Tenant, tenant_key(name), jobs)));
    }
    Ok(waiting)
}
