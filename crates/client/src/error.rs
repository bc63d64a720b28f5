//! What can go wrong, and which errors of the server a worker survives.

use crate::held::RunId;
use std::fmt;
use tokio_postgres::Client;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Why a call, or a worker, has ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server, or the way to it.
    Database(tokio_postgres::Error),
    /// A value that is no JSON, or not of the type that was asked for.
    Json(serde_json::Error),
    /// The worker was set up in a way that cannot work.
    Setup(&'static str),
    /// The worker had to leave before the server knew how these runs had ended. They come back when their leases are over.
    Undelivered(usize),
    /// Signals cannot be received.
    Signals(std::io::Error),
}

/// The result of a call of this library.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Database(error) => f.write_str(&described(error)),
            Error::Json(error) => error.fmt(f),
            Error::Setup(what) => f.write_str(what),
            Error::Undelivered(runs) => {
                write!(f, "the server does not know how {runs} run(s) have ended")
            }
            Error::Signals(error) => write!(f, "cannot receive signals: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Database(error) => Some(error),
            Error::Json(error) => Some(error),
            Error::Signals(error) => Some(error),
            Error::Setup(_) | Error::Undelivered(_) => None,
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Error::Database(error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Error::Json(error)
    }
}

/// In one line: what the server says, with its detail and its hint, or what the driver says and why.
pub(crate) fn described(error: &tokio_postgres::Error) -> String {
    let Some(db) = error.as_db_error() else {
        let cause = std::error::Error::source(error);
        return cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
    };
    let more = [db.detail(), db.hint()].into_iter().flatten();
    let mut text = format!("{} ({})", db.message(), db.code().code());
    for line in more {
        text.push_str(". ");
        text.push_str(line.trim_end_matches('.'));
    }
    text
}

/// What becomes of a worker whose call has failed.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Remedy {
    /// The connection is of no use any more.
    Reconnect,
    /// The call may work a moment later.
    Again,
    /// The same, but the server may be one that takes no writes.
    Elsewhere,
    /// It fails each time.
    Never,
}

/// What a statement says that leaves the connection open is no loss of it, whatever the SQLSTATE: triggers raise any.
pub(crate) fn remedy(error: &tokio_postgres::Error, client: &Client) -> Remedy {
    if error.is_closed() || client.is_closed() || ends_session(error) {
        return Remedy::Reconnect;
    }
    error.code().map_or(Remedy::Never, remedy_by_code)
}

/// Whether another attempt to connect may do better.
pub(crate) fn is_worth_waiting(error: &tokio_postgres::Error) -> bool {
    // Without a word of the server it was not reached.
    error
        .code()
        .is_none_or(|code| remedy_by_code(code) != Remedy::Never)
}

fn ends_session(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

fn remedy_by_code(code: &SqlState) -> Remedy {
    const OF_THE_MOMENT: [&str; 10] = [
        "57014", "40001", "40P01", "55P03", "53200", "53300", "25P03", "25P04", "08", "57P",
    ];
    let code = code.code();
    match OF_THE_MOMENT.iter().any(|class| code.starts_with(class)) {
        true => Remedy::Again,
        false if code == SqlState::READ_ONLY_SQL_TRANSACTION.code() => Remedy::Elsewhere,
        false => Remedy::Never,
    }
}

pub(crate) fn is_locked(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE)
}

/// Whether the server says that the run has ended: by others, or by the call before, of which there was no answer. Triggers may raise
/// the same SQLSTATE, so the message has to be that of the run.
pub(crate) fn is_superseded(error: &tokio_postgres::Error, (id, attempt): RunId) -> bool {
    let Some(told) = error.as_db_error() else {
        return false;
    };
    let message = match told.code() {
        code if *code == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            format!("attempt {attempt} of job {id} is not running")
        }
        code if *code == SqlState::NO_DATA_FOUND => format!("job {id} does not exist"),
        _ => return false,
    };
    told.message() == message
}

/// Claims are refused where SERIALIZABLE is the default of the role or the database.
pub(crate) fn is_refused_by_isolation(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|told| {
        *told.code() == SqlState::FEATURE_NOT_SUPPORTED && told.message().contains("SERIALIZABLE")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_that_pass_are_tried_again() {
        let by_code = |code| remedy_by_code(&SqlState::from_code(code));
        for code in [
            "57014", "40001", "40P01", "55P03", "57P01", "08006", "53300",
        ] {
            assert_eq!(by_code(code), Remedy::Again, "{code}");
        }
        assert_eq!(by_code("25006"), Remedy::Elsewhere);
        for code in ["42501", "54000", "22023", "42883", "0A000", "28P01"] {
            assert_eq!(by_code(code), Remedy::Never, "{code}");
        }
    }
}
