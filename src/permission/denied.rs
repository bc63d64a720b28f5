//! Errors for a caller without permission. They never show what a row holds and the caller cannot know.

#![allow(unsafe_code, reason = "calls the server's look-ups of names")]

use super::verb::Verb;
use crate::job::lane::EVERY_QUEUE;
use crate::pg::error::Failure;
use pgrx::pg_sys::{self, Oid};
use pgrx::prelude::PgSqlErrorCode;
use std::ffi::CStr;

/// About names that the caller has given, or that a route gives its job.
pub fn denied(role: Oid, verb: Verb, queue: &str, tenant: Option<&str>) -> Failure {
    let queues = match queue {
        EVERY_QUEUE => "all queues".into(),
        name => format!("queue \"{name}\""),
    };
    let tenants = match (verb, tenant) {
        (Verb::Work, _) | (_, Some(EVERY_QUEUE)) => String::new(),
        (_, Some(name)) => format!(" for tenant \"{name}\""),
        (_, None) => " for jobs without a tenant".into(),
    };
    let name = name_of(role);
    failure(format!(
        "role \"{name}\" may not {} {queues}{tenants}",
        phrase(verb)
    ))
    .detail("No row of turnstile.permission allows it.")
    .hint(call_to_make(&name, verb, queue, tenant))
}

/// About a job that the caller may not touch, or that does not exist: the message does not say which.
pub fn denied_job(role: Oid, verb: Verb, job_id: i64) -> Failure {
    let name = name_of(role);
    failure(format!(
        "job {job_id} does not exist, or role \"{name}\" may not touch it"
    ))
    .detail("No row of turnstile.permission allows it for the job's queue and tenant.")
    .hint(call_to_make(&name, verb, "<queue>", Some("<tenant>")))
}

/// About a row that plain DML changes.
pub fn denied_row(role: Oid, verb: Verb) -> Failure {
    let name = name_of(role);
    let rows = match verb {
        Verb::Enqueue => "insert a job for this queue and tenant",
        _ => "change jobs of this queue and tenant",
    };
    failure(format!("role \"{name}\" may not {rows}"))
        .detail("No row of turnstile.permission allows it.")
        .hint(call_to_make(&name, verb, "<queue>", Some("<tenant>")))
}

fn failure(message: String) -> Failure {
    Failure::new(PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, message)
}

fn phrase(verb: Verb) -> &'static str {
    match verb {
        Verb::Enqueue => "enqueue into",
        Verb::Work => "work on",
        Verb::Manage => "manage",
        Verb::See => "see jobs of",
    }
}

/// As an administrator would type it; an administrator knows the names that the caller is not told.
fn call_to_make(role: &str, verb: Verb, queue: &str, tenant: Option<&str>) -> String {
    let mut arguments = vec![quoted(&identifier(role))];
    let (queue, tenant) = (array(queue), tenant.map(array));
    let is_limited = tenant
        .as_ref()
        .is_some_and(|tenant| *tenant != array(EVERY_QUEUE));
    let function = match verb {
        Verb::Enqueue => {
            arguments.push(queue);
            arguments.extend(tenant);
            "allow_producer"
        }
        Verb::Work => {
            arguments.push(queue);
            "allow_worker"
        }
        Verb::Manage | Verb::See if is_limited => {
            arguments.extend(tenant);
            "allow_tenant"
        }
        Verb::Manage | Verb::See => "allow_operator",
    };
    let arguments = arguments.join(", ");
    ["SELECT turnstile.", function, "(", &arguments, ")"].concat()
}

fn array(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/*<>".contains(&byte);
    match name.bytes().all(is_plain) && !name.eq_ignore_ascii_case("null") {
        true => quoted(&format!("{{{name}}}")),
        false => format!("ARRAY[{}]", quoted(name)),
    }
}

fn quoted(text: &str) -> String {
    let escapes = if text.contains('\\') { "E" } else { "" };
    let text = text.replace('\\', "\\\\").replace('\'', "''");
    format!("{escapes}'{text}'")
}

fn identifier(name: &str) -> String {
    let first = name.bytes().next().unwrap_or(b'0');
    let is_plain = (first.is_ascii_lowercase() || first == b'_')
        && (name.bytes())
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    match is_plain {
        true => name.into(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn name_of(role: Oid) -> String {
    // SAFETY: gives the name, or null for a role that is gone.
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        match name.is_null() {
            true => format!("{}", u32::from(role)),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    }
}
