//! The log of jobs that have waited or run for long, whatever changes them. An entry is made by the statement that starts the
//! job or ends the run, as log_min_duration_statement does: also where its transaction is undone later.

use crate::job::row::column;
use crate::pg::error::log;
use crate::pg::tuple::RawRow;
use crate::pg::{server, settings};

/// In microseconds.
const MS: i64 = server::SECOND / 1000;

/// Logs the start or end of a run, if it is worth it.
#[inline]
pub fn note(old: Option<&RawRow>, new: Option<&RawRow>) {
    if settings::log_min_wait_time().is_some() || settings::log_min_run_time().is_some() {
        note_change(old, new);
    }
}

#[cold]
fn note_change(old: Option<&RawRow>, new: Option<&RawRow>) {
    let old = old.map(|row| row.again(usize::MAX));
    match (&old, new) {
        (Some(old), Some(new)) if !old.is_running() && new.is_running() => {
            let new = new.again(usize::MAX);
            let waited = between(&new, column::RUN_AT, new.int8(column::CLAIMED_AT));
            note_time(&new, "waited", waited, settings::log_min_wait_time());
        }
        (Some(old), new) if old.is_running() && !new.is_some_and(RawRow::is_running) => {
            let ran = between(old, column::CLAIMED_AT, Some(server::now()));
            note_time(old, "ran", ran, settings::log_min_run_time());
        }
        _ => {}
    }
}

/// Microseconds since the time in a column; none since `-infinity`.
fn between(row: &RawRow, since: usize, until: Option<i64>) -> Option<i64> {
    let since = row.int8(since).filter(|&time| time != i64::MIN);
    Some(until?.checked_sub(since?)?.max(0))
}

fn note_time(row: &RawRow, what: &str, time: Option<i64>, least: Option<i64>) {
    let (Some(time), Some(least)) = (time, least) else {
        return;
    };
    if time / MS < least {
        return;
    }
    let id = row.int8(column::ID).unwrap_or(0);
    let attempt = row.int4(column::ATTEMPT).unwrap_or(0);
    let queue = row.text(column::QUEUE).unwrap_or_default();
    let optional = |name: &str, column| {
        let value = row.text(column);
        value.map_or_else(String::new, |value| format!(", {name} \"{value}\""))
    };
    log(
        format!(
            "job {id} of queue \"{queue}\" {what} {}.{:03} ms, attempt {attempt}",
            time / MS,
            time % MS
        ),
        format!(
            "kind \"{}\"{}{}",
            row.text(column::KIND).unwrap_or_default(),
            optional("tenant", column::TENANT),
            optional("worker", column::WORKER),
        ),
    );
}
