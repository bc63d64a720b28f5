//! Checks permissions for functions that are written in SQL and run with their caller's rights.

use crate::api::arguments::required_name;
use crate::permission::{Verb, check};
use crate::pg::call::{Call, arguments};
use crate::pg::error::{Result, bad_value};
use pgrx::pg_sys::Datum;

arguments!(check_permission: VERB, QUEUE, TENANT);

pub fn check_permission(call: &Call) -> Result<Option<Datum>> {
    let name = required_name(call.text(check_permission::VERB), "verb")?;
    let verb = Verb::named(name).ok_or_else(|| {
        bad_value("there is no such verb")
            .detail(format!("It is \"{name}\"."))
            .hint("Use enqueue, work, manage or see.")
    })?;
    let queue = required_name(call.text(check_permission::QUEUE), "queue")?;
    check(verb, queue, call.text(check_permission::TENANT))?;
    Ok(Some(Datum::null()))
}
