//! Fires recurring jobs that are due: each firing is one job, enqueued in the transaction that notes the firing in the row.

use super::Times;
use crate::pg::call::datum;
use crate::pg::error::{Failure, Result, internal};
use crate::pg::rights;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server::{self, SECOND};
use crate::pg::settings;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem;
use pgrx::pg_sys::{Datum, Oid};
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::times::NEVER;

static DUE: Statement = statement!("recurring_due", [TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID]);
static NEXT: Statement = statement!("recurring_next", []);
static FIRE: Statement = statement!("recurring_fire", [TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID]);
static PASS: Statement = statement!("recurring_pass", [TEXTOID, TIMESTAMPTZOID, TEXTOID]);
static LET_OTHERS_GO_FIRST: Statement = statement!("recurring_others_first", [TEXTOID]);
static JOB: Statement = statement!("recurring_job", [TEXTOID, TIMESTAMPTZOID]);
static ENQUEUE: Statement = statement!(
    "recurring_enqueue",
    [
        TEXTOID,
        JSONBOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        TEXTOID,
        INT4OID,
        INT4OID,
        TEXTOID,
        TEXTOID,
        INTERVALOID,
        JSONBOID,
        TEXTARRAYOID,
        TEXTARRAYOID
    ]
);

/// The columns of `recurring_job` that `recurring_enqueue` takes.
const OPTIONS: i32 = 15;
/// The role with whose rights a firing enqueues, whether it may use the schema, and its name.
const OWNER: i32 = 16;
const MAY_USE_SCHEMA: i32 = 17;
const OWNER_NAME: i32 = 18;

/// Firings that one transaction makes up for. Each leaves a version of the row for those that follow.
const MOST: usize = 100;
/// A firing that is later than this was missed.
const PUNCTUAL: i64 = 60 * SECOND;
/// How often the setting is read that switches firings off.
const PAUSE: i64 = 60 * SECOND;

/// What a call has done.
#[derive(Default)]
pub struct Fired {
    pub jobs: usize,
    /// There may be more that is due.
    pub has_more: bool,
}

/// What happens to firings that were missed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CatchUp {
    Skip,
    Once,
    All,
}

impl CatchUp {
    fn named(name: &str) -> Self {
        match name {
            "skip" => Self::Skip,
            "all" => Self::All,
            _ => Self::Once,
        }
    }
}

/// A recurring job that is due, whose row is locked.
struct Due {
    name: String,
    cron: String,
    zone: Option<String>,
    catch_up: CatchUp,
    /// The first firing that was not made. None: it was never computed.
    first: Option<i64>,
    /// Since when it is due.
    since: i64,
}

impl Due {
    fn of(rows: &Rows) -> Result<Option<Self>> {
        if rows.len() == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            name: rows.required(0, 1)?,
            cron: rows.required(0, 2)?,
            zone: rows.value(0, 3),
            catch_up: CatchUp::named(rows.required(0, 4)?),
            first: rows.value(0, 5),
            since: rows.required(0, 6)?,
        }))
    }

    /// The firings to be made now, and when the next one is due.
    fn firings(&self, times: &Times, now: i64) -> (Vec<i64>, i64) {
        let next_after = |time| times.next(time).unwrap_or(NEVER);
        let Some(first) = self.first.filter(|&first| first <= now) else {
            return (Vec::new(), next_after(now));
        };
        if self.catch_up == CatchUp::All {
            let others = times.firings(first, now).take(MOST - 1);
            let firings: Vec<i64> = std::iter::once(first).chain(others).collect();
            let last = firings.last().copied().unwrap_or(first);
            return (firings, next_after(last));
        }
        let last = times.last(first, now);
        let is_missed = now.saturating_sub(last) > PUNCTUAL;
        let firings = match self.catch_up == CatchUp::Skip && is_missed {
            true => Vec::new(),
            false => vec![last],
        };
        (firings, next_after(now))
    }
}

/// Fires up to `most` recurring jobs that are due, and notes when to look again.
pub fn fire(spi: &Spi, job_table: Oid, most: usize) -> Result<Fired> {
    let mut fired = Fired::default();
    if !settings::fires_recurring() {
        return Ok(fired);
    }
    let version = shmem::with_existing(job_table, |memory| Ok(memory.state.recurring.look()))?;
    let now = server::now();
    let mut after = (server::BEFORE_ALL_TIMES, String::new());
    fired.has_more = true;
    for _ in 0..most {
        let (time, name) = &after;
        let due = spi.run(&DUE, &[datum(now), datum(*time), datum(name.as_str())])?;
        let Some(due) = Due::of(&due)? else {
            fired.has_more = false;
            break;
        };
        fired.jobs += fire_one(spi, &due, now)?;
        after = (due.since, due.name);
        pgrx::check_for_interrupts!();
    }
    note_next(job_table, version, spi.run(&NEXT, &[])?.value(0, 1))?;
    Ok(fired)
}

/// Where the setting switches firings off, the background worker looks again after a while.
pub fn rest(spi: &Spi, job_table: Oid) -> Result<()> {
    let version = shmem::with_existing(job_table, |memory| Ok(memory.state.recurring.look()))?;
    let next: Option<i64> = spi.run(&NEXT, &[])?.value(0, 1);
    let not_before = server::now().saturating_add(PAUSE);
    note_next(job_table, version, next.map(|next| next.max(not_before)))
}

fn note_next(job_table: Oid, version: Option<u64>, next: Option<i64>) -> Result<()> {
    if version.is_none() && next.is_none() {
        return Ok(());
    }
    shmem::with(job_table, |memory| {
        let version = version.unwrap_or_else(|| memory.state.recurring.look());
        memory.state.recurring.looked(version, next);
        Ok(())
    })
}

/// One that was due, for all of its firings that are to be made. Returns how many jobs that were.
fn fire_one(spi: &Spi, due: &Due, now: i64) -> Result<usize> {
    let times = match Times::of(&due.cron, due.zone.as_deref()) {
        Ok(times) => times,
        Err(failure) => {
            pass(spi, &due.name, NEVER, Some(failure.told()))?;
            return Ok(0);
        }
    };
    let (firings, next) = due.firings(&times, now);
    if firings.is_empty() {
        pass(spi, &due.name, next, None)?;
    }
    let mut jobs = 0;
    for (nth, &firing) in firings.iter().enumerate() {
        let following = firings.get(nth + 1).copied().unwrap_or(next);
        let noted = if armed(Seeded::FireAgain) {
            firing
        } else {
            following
        };
        let arguments = [datum(due.name.as_str()), datum(firing), datum(noted)];
        let has_fired: bool = spi.run(&FIRE, &arguments)?.required(0, 1)?;
        if !has_fired {
            break;
        }
        jobs += 1;
    }
    if jobs == firings.len() && next <= now && !armed(Seeded::CatchUpFirst) {
        spi.run(&LET_OTHERS_GO_FIRST, &[datum(due.name.as_str())])?;
    }
    Ok(jobs)
}

/// Nothing is enqueued before `next`.
fn pass(spi: &Spi, name: &str, next: i64, why: Option<String>) -> Result<()> {
    spi.run(&PASS, &[datum(name), datum(next), datum(why)])?;
    Ok(())
}

/// Enqueues the job of a firing with the rights of the recurring job's owner, and returns its id.
pub fn enqueue_one(spi: &Spi, name: Option<Datum>, firing: Option<Datum>) -> Result<Option<Datum>> {
    let job = spi.run(&JOB, &[name, firing])?;
    let Some(owner) = job.value::<i64>(0, OWNER) else {
        return Err(no_owner(job.value(0, OWNER_NAME)));
    };
    if job.value(0, MAY_USE_SCHEMA) != Some(true) {
        return Err(may_not_enqueue(job.value(0, OWNER_NAME)));
    }
    let owner = u32::try_from(owner).map(Oid::from);
    let owner = owner.map_err(|_| internal("a role has no OID"))?;
    let options: Vec<Option<Datum>> = (1..=OPTIONS).map(|column| job.get(0, column)).collect();
    rights::as_role(owner, || Ok(spi.run(&ENQUEUE, &options)?.get(0, 1)))
}

fn no_owner(name: Option<&str>) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        "owner of the recurring job does not exist",
    )
    .detail(format!(
        "There is no role \"{}\".",
        name.unwrap_or_default()
    ))
    .hint("Create it again with turnstile.schedule(), or end it with turnstile.unschedule().")
}

fn may_not_enqueue(name: Option<&str>) -> Failure {
    Failure::new(
        PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
        "permission denied to enqueue",
    )
    .detail(format!(
        "The owner of the recurring job, \"{}\", has no USAGE on the schema turnstile.",
        name.unwrap_or_default()
    ))
    .hint("Call turnstile.allow_producer() for the role.")
}
