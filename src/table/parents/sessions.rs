//! No job is in the session of one that waits for it: that one holds the session until the job has ended, so both would wait for ever.
//!
//! A child is compared with what is above it, and locks all of that. A job that is moved is compared with what is below it, too, and locks
//! itself, so that one of the two sees the other.

use super::line;
use crate::job::column;
use crate::job::lane::session_key;
use crate::job::later::Later;
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, bad_value};
use crate::pg::rights::Owner;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Statement, statement, with_spi};
use crate::pg::tuple::RawRow;
use crate::transaction::parent::Parent;
use crate::transaction::pending;
use std::cell::RefCell;
use turnstile_scheduler::figures::State;

static LOCK_MOVED: Statement = statement!("lock_moved", [INT8OID]);
static BELOW: Statement = statement!("session_below", [INT8OID, INT8ARRAYOID]);

thread_local! {
    /// The jobs that were left where they are, while others are moved.
    static LEFT: RefCell<Option<Vec<i64>>> = const { RefCell::new(None) };
}

/// Forgets the jobs that were left, also after an error.
struct UntilDone;

impl Drop for UntilDone {
    fn drop(&mut self) {
        LEFT.set(None);
    }
}

/// Moves jobs by a statement, except those that may not be where they would go: these are returned, too.
pub fn moving_what_may_move<R>(work: impl FnOnce() -> Result<R>) -> Result<(R, Vec<i64>)> {
    LEFT.set(Some(Vec::new()));
    let _until = UntilDone;
    let done = work()?;
    Ok((done, LEFT.take().unwrap_or_default()))
}

/// Whether a job that may not be moved stays where it is instead of failing the statement.
pub fn is_left(row: &RawRow) -> bool {
    LEFT.with_borrow_mut(|left| match left {
        Some(left) if !armed(Seeded::LeaveNoJob) => {
            left.extend(row.int8(column::ID));
            true
        }
        _ => false,
    })
}

/// Whether a job is in another session than before. The same text in another queue or tenant is another session.
pub fn is_other(row: &RawRow, old: &RawRow) -> bool {
    let same = |column| old.text(column) == row.text(column);
    row.text(column::SESSION).is_some()
        && !(same(column::SESSION) && same(column::QUEUE) && same(column::TENANT))
}

fn of(row: &RawRow) -> Option<u64> {
    let session = row.text(column::SESSION)?;
    let spec = row.read().spec;
    Some(session_key(spec.queue, spec.tenant, session))
}

/// Why a job that stays under its parent may not be in its session.
#[cold]
pub fn refusal_under(parent: i64, row: &RawRow) -> Result<Option<Failure>> {
    let above: Option<Vec<i64>> = Owner::of_jobs()?.run(|| {
        with_spi(|spi| {
            line::lock(spi, parent)?;
            Ok(line::read(spi, parent)?.value(0, line::SESSIONS))
        })
    })?;
    let above = above.into_iter().flatten().map(i64::cast_unsigned);
    Ok(refusal_among(&above.collect::<Vec<_>>(), parent, row))
}

/// Why a job may not be in its session below a parent, given the sessions of that and of the jobs that wait for it.
pub fn refusal_among(above: &[u64], parent: i64, row: &RawRow) -> Option<Failure> {
    let meets = of(row).is_some_and(|own| above.contains(&own));
    (meets && !armed(Seeded::AllowAncestorsSession)).then(|| in_session_above(parent))
}

/// Why a job may not be in its session with those that are below it, or they in those of a parent that it has got.
#[cold]
pub fn refusal_over(
    row: &RawRow,
    old: &RawRow,
    new_parent: Option<&Parent>,
) -> Result<Option<Failure>> {
    let id = row.int8(column::ID).unwrap_or(0);
    let above = new_parent.iter().flat_map(|parent| parent.sessions.iter());
    let sessions: Vec<i64> = above
        .copied()
        .chain(of(row))
        .map(u64::cast_signed)
        .collect();
    let has_none = ![row, old].into_iter().any(may_have_children);
    if sessions.is_empty() || has_none || armed(Seeded::OverlookSessionsBelow) {
        return Ok(None);
    }
    // Those that are known may be below it.
    pending::forget_parents();
    let below: Option<i64> = Owner::of_jobs()?.run(|| {
        with_spi(|spi| {
            spi.run(&LOCK_MOVED, &[datum(id)])?;
            Ok(spi.run(&BELOW, &[datum(id), datum(sessions)])?.value(0, 1))
        })
    })?;
    Ok(below.map(|child| over_its_session(id, child)))
}

/// A job that was never claimed, and does not wait for children, has none.
fn may_have_children(row: &RawRow) -> bool {
    row.opens_batch()
        || !matches!(row.state(), Some(State::Available | State::Scheduled))
        || row.int4(column::ATTEMPT) != Some(0)
        || row.far(Later::of(row).children).is_some()
}

fn in_session_above(parent: i64) -> Failure {
    bad_value("a child must not be in the session of a job that waits for it")
        .detail(format!(
            "Job {parent}, or a job that waits for it, has the session until its children have ended."
        ))
        .hint("Give the child another session, or none.")
}

fn over_its_session(id: i64, child: i64) -> Failure {
    bad_value("a job must not wait for one in its own session")
        .detail(format!(
            "Job {child}, for which job {id} waits, is in the session of that job, or of one that would wait for it."
        ))
        .hint("Move the child to another session first, or to none.")
}
