//! `max_waiting` of queues and tenants: how many jobs may wait. Only a new job is refused; one that comes back
//! counts, and may pass the bound. Where the jobs have not been counted, and cannot be, producers are admitted.
//!
//! The numbers are in [`crate::shmem`]. Each backend keeps the bounds until a commit changes one, so that jobs
//! without a bound cost a look at the version. The first transaction that meets a bound whose backlog has not been
//! counted counts all backlogs that have one.

use crate::job::gates;
use crate::job::lane::{queue_key, tenant_key};
use crate::job::row::column;
use crate::job::tables;
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, internal, notice, quoted};
use crate::pg::relation::Opened;
use crate::pg::rights::Owner;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::snapshot::{Snapshot, assign_transaction_id};
use crate::pg::spi::{Rows, Spi, Statement, Value, statement, with_spi};
use crate::pg::tuple::RawRow;
use crate::pg::{catalog, rights, server};
use crate::shmem::latches::wait_until;
use crate::shmem::{Admission, Bound, KINDS, Locked, Means};
use crate::transaction::pending::{self, Work};
use crate::{permission, shmem};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::PgSqlErrorCode;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;
use turnstile_scheduler::{GateKind, LaneSpec};

static EXIST: Statement = statement!("bounds_exist", []);
static LISTED: Statement = statement!("bounds_listed", []);
static WAITING: Statement = statement!("count_waiting", []);

/// The column of the bound in the views of settings.
const MAX_WAITING: i32 = 10;
/// Where bounds are set.
const SETTINGS: [&CStr; 2] = [c"queue", c"tenant"];
/// The most names whose bounds a backend remembers.
const MOST_NAMES: usize = 1_000;
/// Rows that are fetched at once, and counted while the lock is held once.
const BATCH: i64 = 1_000;
/// How long a transaction waits for another backend's count, in microseconds; then it is admitted.
const LONGEST_WAIT: i64 = 1_000_000;
/// How often it looks meanwhile.
const NEXT_LOOK: i64 = 1_000;
/// Producers are warned from this share of a bound on, in percent.
const WARNED_AT: i64 = 80;

/// The table of jobs, and the version of the bounds.
type Version = (Oid, u64);

#[derive(Default)]
struct Kept {
    of: (u32, u64),
    bounds: HashMap<(GateKind, u64), Option<u32>>,
}

thread_local! {
    /// The version in which nothing has a bound.
    static UNBOUNDED: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Takes the places of a job that is about to be added, or refuses it (53400).
pub fn admit(job_table: Oid, row: &RawRow) -> Result<()> {
    // Without memory nothing is counted.
    let Some(version) = shmem::bounds_version(job_table) else {
        return Ok(());
    };
    match UNBOUNDED.get() == (u32::from(job_table), version) {
        true => Ok(()),
        false => admit_bounded((job_table, version), row),
    }
}

#[cold]
fn admit_bounded(version: Version, row: &RawRow) -> Result<()> {
    if !row.is_waiting() || is_replayed()? {
        return Ok(());
    }
    let bounds = bounds_of(version, row)?;
    if bounds.is_empty() {
        return Ok(());
    }
    // A caller that may not enqueue there learns nothing.
    permission::job_changed(None, Some(row))?;
    match take_places_once_counted(version.0, &bounds)? {
        Admission::Uncounted | Admission::BeingCounted => Ok(()),
        Admission::Full { bound, waiting } => Err(bounds.get(bound).map_or_else(
            || internal("no such bound"),
            |bound| full(row, bound, waiting),
        )),
        Admission::Admitted { waiting, .. } => {
            for (bound, waiting) in bounds.iter().zip(waiting) {
                warn(row, bound, waiting);
            }
            Ok(())
        }
    }
}

/// Counts the backlogs, or waits for the backend that does, for as long as is bearable.
fn take_places_once_counted(job_table: Oid, bounds: &[Bound]) -> Result<Admission> {
    let mut means = Means {
        count: true,
        wait: !armed(Seeded::DoNotAwaitCount) && pending::with(|pending| !pending.has_given_up_count),
    };
    let given_up_at = server::now().saturating_add(LONGEST_WAIT);
    loop {
        match take_places(job_table, bounds, means)? {
            Admission::Uncounted => {
                means.count = false;
                count(job_table)?;
            }
            Admission::BeingCounted if server::now() < given_up_at => {
                wait_until(server::now().saturating_add(NEXT_LOOK));
            }
            Admission::BeingCounted => {
                means.wait = false;
                pending::with(|pending| pending.has_given_up_count = true);
            }
            decided => return Ok(decided),
        }
    }
}

/// Charges the transaction. Its charges are on record before the memory has them.
fn take_places(job_table: Oid, bounds: &[Bound], means: Means) -> Result<Admission> {
    assign_transaction_id();
    pending::note(job_table, |level| {
        for bound in bounds {
            level.charges.take(bound.kind, bound.key);
        }
    });
    let admission = shmem::with(job_table, |memory| {
        memory.make_room_for_names(bounds.len());
        Ok(memory.backlog.admit(bounds, means))
    })?;
    let charged = match admission {
        Admission::Admitted { charged, .. } => charged,
        Admission::Full { .. } | Admission::Uncounted | Admission::BeingCounted => [false; 2],
    };
    pending::note(job_table, |level| {
        for (bound, charged) in bounds.iter().zip(charged) {
            if !charged {
                level.charges.give_back(bound.kind, bound.key);
            }
        }
    });
    Ok(admission)
}

fn name<'r>(row: &'r RawRow, bound: &Bound) -> (&'static str, &'r str) {
    let (kind, column) = match bound.kind {
        GateKind::Queue => ("queue", column::QUEUE),
        _ => ("tenant", column::TENANT),
    };
    (kind, row.text(column).unwrap_or_default())
}

fn full(row: &RawRow, bound: &Bound, waiting: i64) -> Failure {
    let (kind, name) = name(row, bound);
    Failure::new(
        PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
        format!("the backlog of {kind} {} is full", quoted(name)),
    )
    .detail(format!(
        "The {kind} has {waiting} waiting jobs, those of open transactions included; its max_waiting is {}.",
        bound.most
    ))
    .hint(format!(
        "Try again once jobs have been claimed, or raise the bound with turnstile.set_{kind}."
    ))
}

fn warn(row: &RawRow, bound: &Bound, waiting: Option<i64>) {
    let Some(waiting) = waiting else { return };
    let is_near = waiting.saturating_mul(100) >= i64::from(bound.most) * WARNED_AT;
    if is_near && is_first_warning(bound) {
        let (kind, name) = name(row, bound);
        notice(format!(
            "the backlog of {kind} {} has {waiting} jobs of at most {}",
            quoted(name),
            bound.most
        ));
    }
}

/// Once in a transaction.
fn is_first_warning(bound: &Bound) -> bool {
    pending::with(|pending| {
        let name = (bound.kind, bound.key);
        let is_first = !pending.warned.contains(&name);
        if is_first {
            pending.warned.push(name);
        }
        is_first
    })
}

/// Whether the row was admitted elsewhere: it comes by replication, or from a dump, which switches both settings off,
/// as no session does by default. Any role could do so; so it must be plain DML with the owner's rights.
fn is_replayed() -> Result<bool> {
    let restores = server::restores() && !rights::is_own_change();
    Ok(server::is_replica() || (restores && rights::is_owner(rights::outer_user())?))
}

/// The bounds of a job's queue and tenant.
fn bounds_of(version: Version, row: &RawRow) -> Result<Vec<Bound>> {
    if KEPT.with_borrow(|kept| kept.of != known_as(version)) && !look_for_any(version)? {
        return Ok(Vec::new());
    }
    let spec = row.read().spec;
    let mut bounds = Vec::with_capacity(KINDS.len());
    for (kind, key) in [
        (GateKind::Queue, spec.queue),
        (GateKind::Tenant, spec.tenant),
    ] {
        if key != 0
            && let Some(most) = bound_of(version, kind, key)?
        {
            bounds.push(Bound { kind, key, most });
        }
    }
    Ok(bounds)
}

fn known_as((table, version): Version) -> (u32, u64) {
    (u32::from(table), version)
}

/// Whether anything has a bound. What was known of another version is forgotten.
fn look_for_any(version: Version) -> Result<bool> {
    let Some(any) = read(|spi| committed(spi, &EXIST, &[], 1))? else {
        return Ok(false);
    };
    match any == Some(true) {
        true => KEPT.with_borrow_mut(|kept| {
            *kept = Kept {
                of: known_as(version),
                ..Kept::default()
            }
        }),
        false => UNBOUNDED.set(known_as(version)),
    }
    Ok(any == Some(true))
}

fn bound_of(version: Version, kind: GateKind, key: u64) -> Result<Option<u32>> {
    let known = KEPT.with_borrow(|kept| kept.bounds.get(&(kind, key)).copied());
    if let Some(bound) = known {
        return Ok(bound);
    }
    let described = gates::of(kind);
    let Some(settings) = &described.settings else {
        return Ok(None);
    };
    let defaults = described.default_keys(&LaneSpec::default());
    let keys = std::iter::once(key).chain(defaults);
    let keys = [datum(keys.map(u64::cast_signed).collect::<Vec<i64>>())];
    let bound = read(|spi| committed::<i32>(spi, settings.statement, &keys, MAX_WAITING))?;
    let Some(bound) = bound else {
        return Ok(None);
    };
    let bound = bound.and_then(|most| u32::try_from(most).ok());
    KEPT.with_borrow_mut(|kept| {
        if kept.of == known_as(version) {
            if kept.bounds.len() >= MOST_NAMES {
                kept.bounds.clear();
            }
            kept.bounds.insert((kind, key), bound);
        }
    });
    Ok(bound)
}

/// Reads what is committed in the tables of settings, for any caller. Gives nothing where this transaction has
/// rewritten one of them, which hides what is committed.
fn read<R>(work: impl FnOnce(&Spi) -> Result<R>) -> Result<Option<R>> {
    for table in SETTINGS {
        let settings = Opened::of(catalog::lock(table, pg_sys::AccessShareLock)?);
        if settings.has_new_storage() {
            return Ok(None);
        }
    }
    Owner::of_jobs()?.run(|| with_spi(work)).map(Some)
}

/// A column of the first row of a statement's result.
fn committed<T: for<'rows> Value<'rows>>(
    spi: &Spi,
    statement: &Statement,
    arguments: &[Option<Datum>],
    column: i32,
) -> Result<Option<T>> {
    let value = spi.first_row(statement, arguments, &Snapshot::take(), |rows| {
        rows.value(0, column)
    })?;
    Ok(value.flatten())
}

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
