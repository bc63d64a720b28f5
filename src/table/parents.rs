//! Children: a parent is kept from ending while a transaction adds some, and it must wait for children, or be able to.
//!
//! What is known of a parent is kept by savepoint level, with the lock that makes it true.

mod line;
mod sessions;

pub use sessions::moving_what_may_move;

use super::backlog::is_replayed;
use crate::job::column;
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, bad_value, no_such_job, too_long};
use crate::pg::locks::{Object, Part};
use crate::pg::rights::Owner;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::pg::tuple::RawRow;
use crate::transaction::parent::Parent;
use crate::transaction::pending;
use pgrx::pg_sys::Oid;
use pgrx::prelude::PgSqlErrorCode;
use std::rc::Rc;

static LOCK: Statement = statement!("lock_parent", [INT8OID]);
static WAITS_FOR_LINE: Statement =
    statement!("waits_for_line", [INT8ARRAYOID, INT8ARRAYOID, INT8ARRAYOID]);
static FIND: Statement = statement!("find_run", [INT8OID]);
static EXPECT_LATE_CHILDREN: Statement = statement!("expect_late_children", [INT8OID]);

/// Jobs that may wait for each other.
const MOST_LEVELS: usize = 100;

/// The parent of a job that is about to be added, which cannot end before this transaction.
pub fn lock(spi: &Spi, job_table: Oid, id: i64) -> Result<Rc<Parent>> {
    if let Some(known) = pending::with(|pending| pending.parent(id)) {
        return Ok(known);
    }
    if !armed(Seeded::LeaveParentUnlocked) {
        spi.run(&LOCK, &[datum(id)])?;
    }
    let parent = read(spi, id, false)?;
    pending::note(job_table, |level| level.parents.push((id, parent.clone())));
    Ok(parent)
}

/// The same, with the jobs that wait for it.
fn lock_line(spi: &Spi, job_table: Oid, id: i64) -> Result<Rc<Parent>> {
    if !armed(Seeded::LeaveLineUnlocked) {
        line::lock(spi, id)?;
    }
    pending::forget_parent(Some(id));
    let parent = read(spi, id, true)?;
    pending::note(job_table, |level| level.parents.push((id, parent.clone())));
    Ok(parent)
}

/// It is younger than the lock.
fn read(spi: &Spi, id: i64, is_line_locked: bool) -> Result<Rc<Parent>> {
    let rows = line::read(spi, id)?;
    if rows.len() == 0 {
        let state = spi.run(&FIND, &[datum(id)])?.value::<String>(0, 1);
        return Err(state.map_or_else(|| no_such_job(id), |state| takes_no_children(id, &state)));
    }
    if rows.value(0, 6) != Some(true) {
        return Err(takes_no_children(id, rows.required(0, 1)?));
    }
    if rows.value(0, 7) == Some(true) {
        return Err(too_deep(id));
    }
    if rows.value(0, line::HAS_NUMBERS) == Some(true) && !armed(Seeded::KeepNumbersOfChildren) {
        spi.run(&EXPECT_LATE_CHILDREN, &[datum(id)])?;
    }
    let keys: Vec<i64> = rows.required(0, line::SESSIONS)?;
    Ok(Rc::new(Parent {
        queue: rows.required(0, 2)?,
        tenant: rows.value(0, 3),
        account: rows.value(0, 4),
        priority: rows.required(0, 5)?,
        is_open: rows.required(0, 8)?,
        line: rows.required(0, 9)?,
        sessions: keys.into_iter().map(i64::cast_unsigned).collect(),
        is_line_locked,
    }))
}

/// Whether a job may be added under its parent. One without is not looked at.
pub fn admit_new(job_table: Oid, row: &RawRow) -> Result<()> {
    match parent_of(row) {
        Some(parent) if !is_replayed()? => admit_child(job_table, parent, row, false).map(drop),
        _ => Ok(()),
    }
}

/// Whether a job is moved as it is to be; otherwise it stays as it was, see [`moving_what_may_move`]. One that gets no other parent or
/// session is not looked at.
pub fn admit_change(job_table: Oid, row: &RawRow, old: &RawRow) -> Result<bool> {
    let parent = parent_of(row);
    let is_moved = parent.is_some() && old.parent() != parent;
    if !is_moved && !sessions::is_other(row, old) || is_replayed()? {
        return Ok(true);
    }
    let mut refused = None;
    let mut new_parent = None;
    match parent {
        Some(parent) if is_moved => new_parent = Some(admit_child(job_table, parent, row, true)?),
        Some(parent) => refused = sessions::refusal_under(parent, row)?,
        None => {}
    }
    if refused.is_none() {
        refused = sessions::refusal_over(row, old, new_parent.as_deref())?;
    }
    match refused {
        None => Ok(true),
        Some(_) if sessions::is_left(row) => Ok(false),
        Some(refused) => Err(refused),
    }
}

fn parent_of(row: &RawRow) -> Option<i64> {
    row.parent().filter(|&parent| parent >= 1)
}

#[cold]
fn admit_child(job_table: Oid, id: i64, row: &RawRow, is_moved: bool) -> Result<Rc<Parent>> {
    if is_moved {
        await_moves(job_table);
    }
    let known = pending::with(|pending| pending.parent(id));
    let mut parent = match known {
        Some(parent) => parent,
        None => Owner::of_jobs()?.run(|| with_spi(|spi| lock(spi, job_table, id)))?,
    };
    // The jobs above its parent must not come into its session meanwhile, nor into those of jobs below it.
    let needs_line = is_moved || row.text(column::SESSION).is_some();
    if needs_line && parent.line.len() > 1 && !parent.is_line_locked {
        parent = Owner::of_jobs()?.run(|| with_spi(|spi| lock_line(spi, job_table, id)))?;
    }
    if let Some(own) = row.int8(column::ID) {
        if parent.line.contains(&own) {
            return Err(waits_for_itself());
        }
        if is_moved {
            Owner::of_jobs()?.run(|| {
                with_spi(|spi| {
                    check_line(spi, &[own], &parent.line)?;
                    match parent.is_open {
                        true => Ok(()),
                        false => check_order(spi, &[], &[own], &[id]),
                    }
                })
            })?;
        }
    }
    match sessions::refusal_among(&parent.sessions, id, row) {
        None => Ok(parent),
        Some(refused) => Err(refused),
    }
}

/// Two jobs that were moved at the same time could wait for each other. A new job has nobody below it, unless this transaction moves
/// one there.
pub fn await_moves(job_table: Oid) {
    if !armed(Seeded::MoveAtTheSameTime) {
        Object::part(job_table, Part::Moves).lock();
    }
    // The jobs above those that it knows may be others now.
    pending::forget_parents();
}

/// Refuses jobs that come after one of those that wait for them.
pub fn check_line(spi: &Spi, jobs: &[i64], line: &[i64]) -> Result<()> {
    check_order(spi, jobs, line, &[])
}

fn check_order(spi: &Spi, jobs: &[i64], line: &[i64], turns: &[i64]) -> Result<()> {
    let arguments = [jobs, line, turns].map(datum);
    match spi.run(&WAITS_FOR_LINE, &arguments)?.value(0, 1) {
        Some(true) => Err(waits_for_itself()),
        _ => Ok(()),
    }
}

fn takes_no_children(id: i64, state: &str) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("job {id} takes no children"),
    )
    .detail(format!("It is {state}, or its batch is being stopped."))
    .hint("Children can be added to a job that runs, that waits for its children, or whose batch is not open yet. A finished child comes back with turnstile.retry of its parent.")
}

fn too_deep(id: i64) -> Failure {
    too_long("too many jobs wait for each other")
        .detail(format!(
            "Job {id} has {MOST_LEVELS} jobs or more above it, itself included."
        ))
        .hint("Make the job a child of one that is nearer to the first.")
}

pub fn waits_for_itself() -> Failure {
    bad_value("a job must not wait for itself")
        .detail("It is among the jobs that wait for it, or comes after one of them.")
        .hint("Name other jobs as parent and predecessors.")
}
