//! Recurring jobs: SQL statements that run with the owner's rights and are told the caller's name, and the firings.

use crate::api::arguments::bound;
use crate::job::routes;
use crate::permission::{self, Verb};
use crate::pg::call::{Call, arguments, count, datum, must_be_writable, required};
use crate::pg::catalog;
use crate::pg::error::{Result, only_for_owner};
use crate::pg::rights;
use crate::pg::server;
use crate::pg::spi::{Statement, statement, with_spi};
use crate::recurring::{self, Times};
use pgrx::pg_sys::Datum;
use turnstile_scheduler::times::NEVER;

static SET: Statement = statement!(
    "set_recurring",
    [
        TEXTOID,
        TEXTOID,
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
        TEXTOID,
        TEXTOID,
        TEXTARRAYOID,
        NAMEOID
    ]
);
static END: Statement = statement!("end_recurring", [TEXTOID, NAMEOID]);
static PAUSE: Statement = statement!(
    "pause_recurring",
    [TEXTOID, TIMESTAMPTZOID, NAMEOID, BOOLOID]
);

arguments!(
    schedule: NAME,
    CRON,
    KIND,
    PAYLOAD,
    QUEUE,
    TENANT,
    ACCOUNT,
    SESSION,
    CONCURRENCY_KEY,
    PRIORITY,
    MAX_ATTEMPTS,
    UNIQUE_KEY,
    UNIQUE_MODE,
    UNIQUE_FOR,
    METADATA,
    UNIQUE_BY,
    TIME_ZONE,
    CATCH_UP,
    UNIQUE_STATES,
);
arguments!(unschedule: NAME);
arguments!(pause_recurring: NAME, UNTIL);
arguments!(resume_recurring: NAME);
arguments!(next_firing: CRON, TIME_ZONE, AFTER);
arguments!(enqueue_firing: NAME, FIRING);
arguments!(fire_recurring: MAX_JOBS);

pub fn schedule(call: &Call) -> Result<Option<Datum>> {
    required(call.int4(schedule::PRIORITY), "priority")?;
    if let Some(kind) = call.text(schedule::KIND) {
        let routes = with_spi(routes::current)?;
        let target = routes.target(kind, call.text(schedule::QUEUE), None, 0);
        permission::enqueue(target.queue, call.text(schedule::TENANT))?;
    }
    for_caller(call, &SET, schedule::UNIQUE_STATES)
}

pub fn unschedule(call: &Call) -> Result<Option<Datum>> {
    for_caller(call, &END, unschedule::NAME)
}

/// Runs the statement with the arguments of the call up to the last, and the caller's name behind them.
fn for_caller(call: &Call, statement: &Statement, last: usize) -> Result<Option<Datum>> {
    let given = (0..=last).map(|index| call.raw(index));
    let given: Vec<_> = given.chain([rights::caller_name()]).collect();
    with_spi(|spi| Ok(spi.run(statement, &given)?.get(0, 1)))
}

pub fn pause(call: &Call) -> Result<Option<Datum>> {
    let until = call.raw(pause_recurring::UNTIL).or_else(|| datum(NEVER));
    set_pause(call.raw(pause_recurring::NAME), until)
}

pub fn resume(call: &Call) -> Result<Option<Datum>> {
    set_pause(call.raw(resume_recurring::NAME), None)
}

fn set_pause(name: Option<Datum>, until: Option<Datum>) -> Result<Option<Datum>> {
    must_be_writable()?;
    let is_operator = permission::restricted(Verb::Manage)?.is_none();
    let given = [name, until, rights::caller_name(), datum(is_operator)];
    with_spi(|spi| Ok(spi.run(&PAUSE, &given)?.get(0, 1)))
}

pub fn next_firing(call: &Call) -> Result<Option<Datum>> {
    let cron = required(call.text(next_firing::CRON), "cron")?;
    let after = required(server::time_of(call.raw(next_firing::AFTER)), "after")?;
    let times = Times::of(cron, call.text(next_firing::TIME_ZONE))?;
    Ok(times.next(after).and_then(datum))
}

/// It takes on the rights of another role, so it is for the owner alone.
pub fn enqueue_firing(call: &Call) -> Result<Option<Datum>> {
    if !rights::is_owner(rights::current_user())? {
        return Err(only_for_owner("enqueue_firing"));
    }
    let name = call.raw(enqueue_firing::NAME);
    let firing = call.raw(enqueue_firing::FIRING);
    with_spi(|spi| recurring::enqueue_one(spi, name, firing))
}

pub fn fire_recurring(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    permission::operate()?;
    let most = bound(call, fire_recurring::MAX_JOBS)?;
    let fired = with_spi(|spi| recurring::fire(spi, catalog::job_table()?, most))?;
    Ok(count(fired.jobs))
}
