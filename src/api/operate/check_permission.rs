//! The check for functions that are written in SQL and run with their caller's rights.

use crate::api::arguments::required_name;
use crate::permission::{Verb, check};
use crate::pg::call::Call;
use crate::pg::error::{Result, bad_value};
use pgrx::pg_sys::Datum;

pub fn check_permission(call: &Call) -> Result<Option<Datum>> {
    let name = required_name(call.text(0), "verb")?;
    let verb = Verb::named(name).ok_or_else(|| {
        bad_value("there is no such verb")
            .detail(format!("It is \"{name}\"."))
            .hint("Use enqueue, work, manage or see.")
    })?;
    let queue = required_name(call.text(1), "queue")?;
    check(verb, queue, call.text(2))?;
    Ok(Some(Datum::null()))
}
