//! The log of jobs that have waited or run for long, whatever changes them. An entry is made by the statement that starts the
//! job or ends the run, as log_min_duration_statement does: also where its transaction is undone later.

use crate::job::column;
use crate::pg::error::log;
use crate::pg::tuple::RawRow;
use crate::pg::{server, settings};

/// In microseconds.
const MS: i64 = server::SECOND / 1000;

/// Logs the start of a job that has waited for so many microseconds, if that is worth it.
pub fn note_wait(row: &RawRow, waited: Option<i64>) {
    note_time(row, "waited", waited, settings::log_min_wait_time());
}

/// Logs the end of a run.
pub fn note_run(row: &RawRow, ran: Option<i64>) {
    note_time(row, "ran", ran, settings::log_min_run_time());
}

fn note_time(row: &RawRow, what: &str, time: Option<i64>, least: Option<i64>) {
    if let (Some(time), Some(least)) = (time, least)
        && time / MS >= least
    {
        log_time(row, what, time);
    }
}

#[cold]
fn log_time(row: &RawRow, what: &str, time: i64) {
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
