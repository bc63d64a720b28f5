//! Adds a job unless another holds its unique key.

use crate::api::produce::asked_key::UniqueKey;
use crate::api::produce::new_job::NewJob;
use crate::api::produce::unique_key::{Holder, Key, Taken};
use crate::job::numbers;
use crate::job::state::State;
use crate::job::unique::{Mode, Stage};
use crate::job::values::job_statement;
use crate::permission::Verb;
use crate::pg::call::datum;
use crate::pg::error::{Result, cancelled_by_trigger, key_not_written, never_changes};
use crate::pg::rounds::Rounds;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem::Numbers;
use crate::sync::scan::{NUMBER, lane_of_row};
use crate::transaction::pending;
use crate::{permission, table};
use pgrx::pg_sys;

static KEEP_WAITING: Statement =
    statement!("unique_keep_waiting", [INT8OID, BOOLOID, TEXTARRAYOID]);
static REPLACE: Statement = job_statement!("unique_replace", INT8OID, BOOLOID, BOOLOID);
static INSERT: Statement = job_statement!(
    "enqueue_unique",
    INT8OID,
    INT8OID,
    TEXTOID,
    TEXTOID,
    TIMESTAMPTZOID,
    INT8OID,
    BOOLOID,
    BOOLOID,
    TEXTARRAYOID
);

/// What was done for a job that was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Added,
    /// Another one that waits has become it.
    Replaced,
    /// Another one stands for it, and is as it was.
    Found,
}

/// The id of the job, or of the one that holds its key.
pub fn enqueue_unique(
    spi: &Spi,
    job: &NewJob,
    unique: Option<&UniqueKey>,
) -> Result<(i64, Outcome)> {
    // The jobs come first, as where TRUNCATE of them empties the keys.
    let jobs = table::lock_jobs(pg_sys::RowExclusiveLock)?;
    let unique = match unique {
        Some(unique) if unique.hold.mode() != Some(Mode::WhileExecuting) => unique,
        _ => {
            let id = id_of(job, jobs.table)?;
            let added = insert(spi, jobs.table, job, id, unique, None)?;
            let id = added.ok_or_else(|| cancelled_by_trigger("insertion"))?;
            return Ok((id, Outcome::Added));
        }
    };
    let key = Key {
        scope: job.tenant.unwrap_or_default(),
        key: &unique.key,
    };
    let (mut refused, mut locked, mut own_id) = (None, None, None);
    let (mut meetings, mut takings) = (Rounds::new(), Rounds::new());
    loop {
        let holder = key.holder(spi)?;
        if let Some(holder) = holder.as_ref().filter(|holder| holder.counts()) {
            match meet(spi, jobs.table, job, unique, holder)? {
                Meeting::StaysAsFound => return Ok((holder.job_id, Outcome::Found)),
                Meeting::IsReplaced => return Ok((holder.job_id, Outcome::Replaced)),
                Meeting::HasChanged => {
                    meetings.begin_again(holder.generation, || never_changes(holder.job_id))?;
                    continue;
                }
                // It is locked now, so the next look sees its newest version.
                Meeting::IsNotReplaced if locked.replace(holder.job_id) != Some(holder.job_id) => {
                    continue;
                }
                Meeting::IsNotReplaced => return Err(cancelled_by_trigger("update")),
                Meeting::IsUnderWay => {}
            }
        }
        let generation = holder.map_or(0, |holder| holder.generation);
        let id = match own_id {
            Some(id) => id,
            None => *own_id.insert(id_of(job, jobs.table)?),
        };
        if let Some(taken) = key.take(spi, generation, id, &unique.hold, unique.window)? {
            if let Some(id) = insert(spi, jobs.table, job, id, Some(unique), Some(&taken))? {
                return Ok((id, Outcome::Added));
            }
            key.give_up(spi, &taken)?;
            // The next look sees a later generation.
            if refused.replace(taken.generation) == Some(taken.generation) {
                return Err(cancelled_by_trigger("insertion"));
            }
        } else {
            takings.begin_again(generation, key_not_written)?;
        }
    }
}

/// What has become of the holder of a key.
enum Meeting {
    StaysAsFound,
    IsReplaced,
    /// It has children, whose work is that of what was asked for before: it holds the key no more, as if it ran.
    IsUnderWay,
    /// It must be looked at again.
    HasChanged,
    /// It was locked to be replaced, but was not: it had changed since the look, or a trigger keeps it.
    IsNotReplaced,
}

/// Does to the holder what the new job asks for.
fn meet(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &NewJob,
    unique: &UniqueKey,
    holder: &Holder,
) -> Result<Meeting> {
    let waits = matches!(holder.stage, Stage::Waiting | Stage::Retrying);
    if waits && unique.hold.mode() == Some(Mode::Replace) {
        return replace(spi, job_table, job, holder);
    }
    if !waits || !holder.hold.ends_at_start() {
        return Ok(Meeting::StaysAsFound);
    }
    let (states, may_have_started) = holder.hold.waiting();
    let arguments = [datum(holder.job_id), datum(may_have_started), datum(states)];
    let rows = spi.run(&KEEP_WAITING, &arguments)?;
    note_kept_waiting(job_table, &rows)?;
    Ok(match rows.len() {
        0 => Meeting::HasChanged,
        _ => Meeting::StaysAsFound,
    })
}

fn replace(spi: &Spi, job_table: pg_sys::Oid, job: &NewJob, holder: &Holder) -> Result<Meeting> {
    permission::job(spi, Verb::Enqueue, holder.job_id)?;
    let which = [
        datum(holder.job_id),
        datum(job.wait.is_blocked),
        datum(job.wait.opens_batch),
    ];
    let arguments: Vec<_> = job.values.parameters().into_iter().chain(which).collect();
    let rows = spi.run(&REPLACE, &arguments)?;
    let is_parent = rows.value(0, 2) == Some(true);
    Ok(match rows.value(0, 1) {
        Some(true) => {
            // Nobody knows yet that it waits for others than before.
            if job.wait.is_blocked && rows.value(0, 3) == Some(true) {
                pending::note(job_table, |level| level.follow_ups.push(holder.job_id));
            }
            Meeting::IsReplaced
        }
        Some(false) if !is_parent => Meeting::IsNotReplaced,
        Some(false) if holder.hold.keeps_key(Stage::Running, Some(State::Running)) => {
            Meeting::StaysAsFound
        }
        Some(false) => Meeting::IsUnderWay,
        None => Meeting::HasChanged,
    })
}

/// Claims pass the job over until this transaction ends. Then they are told of it.
fn note_kept_waiting(job_table: pg_sys::Oid, rows: &Rows) -> Result<()> {
    if rows.len() > 0 && rows.required(0, NUMBER + 1)? {
        let (lane, position) = (lane_of_row(rows, 0), rows.required(0, NUMBER)?);
        pending::note(job_table, |level| level.kept_waiting.push((lane, position)));
    }
    Ok(())
}

fn id_of(job: &NewJob, job_table: pg_sys::Oid) -> Result<i64> {
    match job.place {
        Some((id, _)) => Ok(id),
        None => numbers::next(job_table, Numbers::Ids),
    }
}

fn position_of(job: &NewJob, job_table: pg_sys::Oid) -> Result<i64> {
    match job.place {
        Some((_, position)) => Ok(position),
        None => numbers::next(job_table, Numbers::Positions),
    }
}

/// The id of the job; None if it was not added.
fn insert(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &NewJob,
    id: i64,
    unique: Option<&UniqueKey>,
    taken: Option<&Taken>,
) -> Result<Option<i64>> {
    let about_key = [
        datum(id),
        datum(position_of(job, job_table)?),
        datum(unique.map(|unique| &*unique.key)),
        datum(unique.and_then(|unique| unique.hold.mode_name())),
        taken.and_then(|taken| taken.until),
        datum(taken.map(|taken| taken.generation)),
        datum(job.wait.is_blocked),
        datum(job.wait.opens_batch),
        datum(unique.and_then(|unique| unique.hold.state_names())),
    ];
    let arguments: Vec<_> = job
        .values
        .parameters()
        .into_iter()
        .chain(about_key)
        .collect();
    Ok(spi.run(&INSERT, &arguments)?.value(0, 1))
}
