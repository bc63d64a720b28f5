//! `max_waiting` of queues and tenants: how many jobs may wait. Only a new job is refused; one that comes back
//! counts, and may pass the bound. Where the jobs have not been counted, and cannot be, producers are admitted.
//!
//! The numbers are in the figures ([`super::figures`]). Each backend keeps the bounds until a commit changes one, so that jobs
//! without a bound cost a look at the version. The first transaction that meets a bound while the jobs are not counted
//! counts them.

mod bounds;

use crate::job::column;
use crate::pg::error::{Failure, Result, internal, notice, quoted};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::snapshot::assign_transaction_id;
use crate::pg::tuple::RawRow;
use crate::pg::{rights, server};
use crate::shmem::latches::wait_until;
use crate::shmem::{Admission, Bound, Means};
use crate::table::figures::count_unless_serializable;
use crate::transaction::pending;
use crate::{permission, shmem};
use bounds::{Version, bounds_of};
use pgrx::pg_sys::Oid;
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::GateKind;

/// How long a transaction waits for another backend's count, in microseconds; then it is admitted.
const LONGEST_WAIT: i64 = 1_000_000;
/// How often it looks meanwhile.
const NEXT_LOOK: i64 = 1_000;
/// Producers are warned from this share of a bound on, in percent.
const WARNED_AT: i64 = 80;

/// Takes the places of a job that is about to be added, or refuses it (53400).
pub fn admit(job_table: Oid, row: &RawRow) -> Result<()> {
    // Without memory nothing is counted.
    let Some(version) = shmem::bounds_version(job_table) else {
        return Ok(());
    };
    match bounds::are_none((job_table, version)) {
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
        wait: !armed(Seeded::DoNotAwaitCount)
            && pending::with(|pending| !pending.has_given_up_count),
    };
    let given_up_at = server::now().saturating_add(LONGEST_WAIT);
    loop {
        match take_places(job_table, bounds, means)? {
            Admission::Uncounted => {
                means.count = false;
                count_unless_serializable(job_table)?;
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
            level.charges.take(bound.name);
        }
    });
    let admission = shmem::with(job_table, |memory| memory.admit(bounds, means))?;
    let charged = match admission {
        Admission::Admitted { charged, .. } => charged,
        Admission::Full { .. } | Admission::Uncounted | Admission::BeingCounted => [false; 2],
    };
    pending::note(job_table, |level| {
        for (bound, charged) in bounds.iter().zip(charged) {
            if !charged {
                level.charges.give_back(bound.name);
            }
        }
    });
    Ok(admission)
}

fn name<'r>(row: &'r RawRow, bound: &Bound) -> (&'static str, &'r str) {
    let (kind, column) = match bound.name.kind {
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
        let is_first = !pending.warned.contains(&bound.name);
        if is_first {
            pending.warned.push(bound.name);
        }
        is_first
    })
}

/// Whether the row was admitted elsewhere: it comes by replication, or from a dump, which switches both settings off,
/// as no session does by default. Any role could do so; so it must be plain DML with the owner's rights.
pub(super) fn is_replayed() -> Result<bool> {
    let restores = server::restores() && !rights::is_own_change();
    Ok(server::is_replica() || (restores && rights::is_owner(rights::outer_user())?))
}
