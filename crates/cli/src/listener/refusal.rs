//! What the server refuses, as an answer: the SQLSTATE decides on the status.

use axum::http::StatusCode;
use tokio_postgres::error::DbError;

use super::Problem;
use crate::connection::Failure;

/// A backlog that is full has room when some of it has been worked off.
const BACKLOG_SECONDS: u32 = 5;
const SERVER_SECONDS: u32 = 2;
/// The state of a job does not allow it, or that of the server.
const NOT_READY: &str = "55000";

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoServer(reason) | Failure::Login(reason) => {
                tracing::warn!(error = reason, "the server cannot be reached");
                Problem::unavailable("The server cannot be reached.").retry_after(SERVER_SECONDS)
            }
            Failure::Busy => Problem::unavailable("Too many requests wait for the server.")
                .retry_after(SERVER_SECONDS),
            // Who sends it again may do it twice.
            Failure::Lost(reason) => {
                tracing::warn!(error = reason, "a request had no answer of the server");
                Problem::unavailable(
                    "The server has not answered. What was asked for may have been done.",
                )
            }
            Failure::Role(error) => {
                let error = error.as_db_error().map(DbError::message);
                tracing::warn!(error, "a token names a role that cannot be used");
                Problem::new(
                    StatusCode::FORBIDDEN,
                    "This program may not act as the role of the token.",
                )
            }
            Failure::Statement(error) => match error.as_db_error() {
                Some(told) => refused(told),
                None => Problem::unavailable("The connection to the server was lost."),
            },
        }
    }
}

fn refused(told: &DbError) -> Problem {
    let sqlstate = told.code().code();
    let (status, retry_after) = match sqlstate {
        NOT_READY if !is_about_job(told.message()) => {
            let error = told.message();
            tracing::error!(
                sqlstate,
                error,
                hint = told.hint(),
                "turnstile cannot be used"
            );
            (StatusCode::SERVICE_UNAVAILABLE, Some(SERVER_SECONDS))
        }
        _ => status_of(sqlstate),
    };
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(sqlstate, error = told.message(), "the server has failed");
        return Problem::new(status, "The server has failed. Its log says more.")
            .sqlstate(sqlstate);
    }
    let detail = match told.detail() {
        Some(detail) => format!("{}: {detail}", told.message()),
        None => told.message().to_owned(),
    };
    let problem = Problem::new(status, detail)
        .sqlstate(sqlstate)
        .hint(told.hint());
    match retry_after {
        Some(seconds) => problem.retry_after(seconds),
        None => problem,
    }
}

/// The same SQLSTATE has a server without the library, or with another version of it, or a trigger in the way. Messages of the extension
/// are not translated, and those about jobs name one.
fn is_about_job(message: &str) -> bool {
    message
        .split("job ")
        .skip(1)
        .any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
}

fn status_of(sqlstate: &str) -> (StatusCode, Option<u32>) {
    let class = sqlstate.get(..2).unwrap_or_default();
    match (sqlstate, class) {
        ("P0002", _) => (StatusCode::NOT_FOUND, None),
        (NOT_READY, _) => (StatusCode::CONFLICT, None),
        ("42501", _) => (StatusCode::FORBIDDEN, None),
        ("54000", _) => (StatusCode::PAYLOAD_TOO_LARGE, None),
        ("53400", _) => (StatusCode::TOO_MANY_REQUESTS, Some(BACKLOG_SECONDS)),
        // 54001: JSON that is nested too deeply. 09000 and P0001: a trigger of the user's.
        ("54001" | "09000" | "P0001", _) | (_, "22" | "23") => (StatusCode::BAD_REQUEST, None),
        // A standby; a lock that was not had in time; a server that stops, or a statement that it ended; conflicts that pass.
        ("25006" | "55P03", _) | (_, "40" | "53" | "57") => {
            (StatusCode::SERVICE_UNAVAILABLE, Some(SERVER_SECONDS))
        }
        _ => (StatusCode::INTERNAL_SERVER_ERROR, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_told_from_servers() {
        for message in [
            "attempt 2 of job 7 is not running",
            "job 7 is completed",
            "element 2: job 7 takes no children",
            "another job holds the unique key of job 7",
        ] {
            assert!(is_about_job(message), "{message}");
        }
        for message in [
            "turnstile must be loaded when the server starts",
            "turnstile in this database is older than the library",
            "the schema turnstile was renamed",
            "turnstile.job was rewritten by this transaction",
            "",
        ] {
            assert!(!is_about_job(message), "{message}");
        }
    }

    #[test]
    fn the_sqlstate_decides() {
        for (sqlstate, status) in [
            ("P0002", 404),
            ("55000", 409),
            ("22P02", 400),
            ("22021", 400),
            ("54000", 413),
            ("54001", 400),
            ("42501", 403),
            ("53400", 429),
            ("53300", 503),
            ("25006", 503),
            ("55P03", 503),
            ("57P01", 503),
            ("40P01", 503),
            ("XX000", 500),
            ("42883", 500),
            ("", 500),
        ] {
            assert_eq!(status_of(sqlstate).0.as_u16(), status, "{sqlstate}");
        }
    }
}
