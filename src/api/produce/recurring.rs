//! `schedule` and `unschedule`: SQL statements that run with the owner's rights and are told the caller's name.

use crate::job::routes;
use crate::permission;
use crate::pg::call::{Call, arguments, required};
use crate::pg::error::Result;
use crate::pg::rights;
use crate::pg::spi::{Statement, statement, with_spi};
use pgrx::pg_sys::Datum;

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
        NAMEOID
    ]
);
static END: Statement = statement!("end_recurring", [TEXTOID, NAMEOID]);

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
);
arguments!(unschedule: NAME);

pub fn schedule(call: &Call) -> Result<Option<Datum>> {
    required(call.int4(schedule::PRIORITY), "priority")?;
    if let Some(kind) = call.text(schedule::KIND) {
        let routes = with_spi(routes::current)?;
        let target = routes.target(kind, call.text(schedule::QUEUE), None, 0);
        permission::enqueue(target.queue, call.text(schedule::TENANT))?;
    }
    for_caller(call, &SET, schedule::METADATA)
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
