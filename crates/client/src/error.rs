//! What can go wrong, and which errors of the server a worker survives.

use std::fmt;
use tokio_postgres::error::SqlState;

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
    /// The connection is of no use any more, or leads to a server that takes no writes.
    Reconnect,
    /// The call may work a moment later.
    Again,
    /// It fails each time.
    Never,
}

pub(crate) fn remedy(error: &tokio_postgres::Error) -> Remedy {
    match error.code() {
        _ if error.is_closed() => Remedy::Reconnect,
        Some(code) => remedy_by_code(code),
        // No word of the server: the socket has failed, or what came was not the protocol.
        None => Remedy::Reconnect,
    }
}

fn remedy_by_code(code: &SqlState) -> Remedy {
    const OF_THE_MOMENT: [SqlState; 5] = [
        SqlState::QUERY_CANCELED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::OUT_OF_MEMORY,
    ];
    if OF_THE_MOMENT.contains(code) {
        return Remedy::Again;
    }
    let of_connections = ["08", "57P", "53300", "25006", "25P03", "25P04"];
    match of_connections
        .iter()
        .any(|class| code.code().starts_with(class))
    {
        true => Remedy::Reconnect,
        false => Remedy::Never,
    }
}

/// Whether the server says that the run has ended: by others, or by the call before, of which there was no answer.
pub(crate) fn is_superseded(error: &tokio_postgres::Error) -> bool {
    let states = [
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        SqlState::NO_DATA_FOUND,
    ];
    error.code().is_some_and(|code| states.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_that_pass_are_tried_again() {
        let by_code = |code| remedy_by_code(&SqlState::from_code(code));
        for code in ["57014", "40001", "40P01", "55P03"] {
            assert_eq!(by_code(code), Remedy::Again, "{code}");
        }
        for code in ["57P01", "08006", "08P01", "53300", "25006"] {
            assert_eq!(by_code(code), Remedy::Reconnect, "{code}");
        }
        for code in ["42501", "54000", "22023", "42883", "0A000", "28P01"] {
            assert_eq!(by_code(code), Remedy::Never, "{code}");
        }
    }
}
