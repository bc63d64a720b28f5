//! `enqueue_batch` adds a job with its children.

use crate::api::arguments::check_rate_per;
use crate::api::produce::enqueue::Request;
use crate::api::produce::enqueue_many::{add_all, read};
use crate::api::produce::enqueue_unique::Outcome;
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::{Failure, Result, bad_value, quoted};
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use pgrx::pg_sys::Datum;

// From the queue on they are those of `enqueue`.
arguments!(
    enqueue_batch: KIND,
    PAYLOAD,
    CHILDREN,
    SLOTS,
    RATE,
    RATE_PER,
    BURST,
    MAX_FAILED,
    ON_END,
    QUEUE,
    TENANT,
    ACCOUNT,
    SESSION,
    CONCURRENCY_KEY,
    PRIORITY,
    RUN_AT,
    MAX_ATTEMPTS,
    UNIQUE_KEY,
    UNIQUE_MODE,
    UNIQUE_FOR,
    METADATA,
    UNIQUE_BY,
    PARENT,
    AFTER,
    AFTER_ANY_END,
    AFTER_HOLD,
    UNIQUE_STATES,
);

static INSERT: Statement = statement!(
    "insert_batch",
    [
        INT8OID,
        INT4OID,
        INT4OID,
        INTERVALOID,
        INT4OID,
        INT4OID,
        TEXTOID,
        BOOLOID
    ]
);

const ENDS: [&str; 3] = ["run", "run_if_all_completed", "complete"];
/// How many arguments come between the payload and what follows it in `enqueue`.
const LATER: usize = enqueue_batch::ON_END - enqueue_batch::PAYLOAD;

pub fn enqueue_batch(call: &Call) -> Result<Option<Datum>> {
    use enqueue_batch::*;
    must_be_writable()?;
    required(call.raw(CHILDREN), "children")?;
    let on_end = required(call.text(ON_END), "on_end")?;
    if !ENDS.contains(&on_end) {
        return Err(bad_value("on_end is unknown")
            .detail(format!("It is {}.", quoted(on_end)))
            .hint("Use run, run_if_all_completed or complete."));
    }
    at_least(call, SLOTS, "slots", 0)?;
    at_least(call, MAX_FAILED, "max_failed", 0)?;
    at_least(call, RATE, "rate", 1)?;
    at_least(call, BURST, "burst", 1)?;
    check_rate_per(call, RATE_PER)?;
    check_rate(call)?;
    let request = Request::of_call(call, LATER)?;
    let mut children = read(call, CHILDREN, "children")?;
    for (ord, child) in (1..).zip(&children) {
        if child.ties.parent.is_some() {
            return Err(has_a_parent().of_element(ord));
        }
    }
    let id = with_spi(|spi| {
        let (id, outcome, is_open) = request.add_parent(spi)?;
        if outcome != Outcome::Found {
            let settings = [SLOTS, RATE, RATE_PER, BURST, MAX_FAILED, ON_END];
            insert(spi, id, settings.map(|at| call.raw(at)), is_open)?;
            for child in &mut children {
                child.ties.parent = Some(id);
            }
            add_all(spi, &children)?;
        }
        Ok(id)
    })?;
    Ok(datum(id))
}

fn insert(spi: &Spi, id: i64, settings: [Option<Datum>; 6], is_open: bool) -> Result<()> {
    let [slots, rate, rate_per, burst, max_failed, on_end] = settings;
    let arguments = [
        datum(id),
        slots,
        rate,
        rate_per,
        burst,
        max_failed,
        on_end,
        datum(is_open),
    ];
    spi.run(&INSERT, &arguments).map(drop)
}

fn at_least(call: &Call, argument: usize, name: &str, least: i32) -> Result<()> {
    match call.int4(argument) {
        Some(number) if number < least => {
            Err(bad_value(format!("{name} must be at least {least}"))
                .detail(format!("It is {number}."))
                .hint("Leave it out for no limit."))
        }
        _ => Ok(()),
    }
}

/// What says how the rate is meant needs one.
fn check_rate(call: &Call) -> Result<()> {
    use enqueue_batch::{BURST, RATE, RATE_PER};
    let given = [(RATE_PER, "rate_per"), (BURST, "burst")];
    let given = given.into_iter().find(|&(at, _)| call.raw(at).is_some());
    match given.filter(|_| call.raw(RATE).is_none()) {
        Some((_, argument)) => Err(bad_value(format!("{argument} needs a rate"))
            .detail("The argument \"rate\" is NULL.")
            .hint("Say how many children may start, or leave it out.")),
        None => Ok(()),
    }
}

fn has_a_parent() -> Failure {
    bad_value("a child of a batch must not name a parent")
        .detail("Its parent is the job that is added with it.")
        .hint("Leave parent out.")
}
