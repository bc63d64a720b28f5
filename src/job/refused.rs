//! Rows of jobs that are refused.

use crate::job::gates;
use crate::job::state::{LIVE, names};
use crate::pg::error::{Failure, listed};
use pgrx::prelude::PgSqlErrorCode;
use turnstile_scheduler::LONGEST_NAME;

/// What the lane of a job, and where it is in it, depend on beside the names of its gates.
const MORE_OF_LANE: [&str; 4] = ["unique_mode", "holds_session", "priority", "state"];

pub fn invalid_column(column: &str) -> Failure {
    let states = listed(&names(LIVE), "or");
    Failure::new(
        PgSqlErrorCode::ERRCODE_CHECK_VIOLATION,
        format!("a row of turnstile.job has an invalid {column}"),
    )
    .detail(format!("Names have 1 to {LONGEST_NAME} bytes; state is {states}; max_attempts is 1 or more; attempt and uncounted are 0 to 1,000,000,000."))
    .hint("Finished jobs live in turnstile.job_history.")
}

pub fn out_of_lane() -> Failure {
    let columns: Vec<&str> = gates::all()
        .map(|gate| gate.column.1)
        .chain(MORE_OF_LANE)
        .collect();
    let columns = listed(&columns, "or");
    Failure::new(
        PgSqlErrorCode::ERRCODE_CHECK_VIOLATION,
        "a row of turnstile.job is not in its lane",
    )
    .detail(format!(
        "Another trigger has changed its {columns} after the trigger place_job had read them."
    ))
    .hint("Give that trigger a name that sorts before place_job.")
}
