//! What can go wrong, how it is told, and the exit code that it gives.

use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use tokio_postgres::Client;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::distrust;

/// The exit codes. docs/program.md explains them.
pub mod exit {
    /// The server refused what was asked for.
    pub const REFUSED: u8 = 1;
    /// The command line, or a setting of the connection, means nothing. It is what clap exits with, too.
    pub const USAGE: u8 = 2;
    /// The server cannot be reached, or was lost.
    pub const NO_SERVER: u8 = 3;
    /// `check` has found differences.
    pub const DIFFERENT: u8 = 4;
}

#[derive(Debug)]
pub enum Error {
    /// A setting of the connection, or an argument, is wrong.
    Usage(String),
    /// No session could be opened.
    Connect {
        place: String,
        source: tokio_postgres::Error,
    },
    /// A statement failed, or the session was lost.
    Statement(tokio_postgres::Error),
    /// The server says nothing, or the session has ended without a word.
    Lost(String),
    /// The server's answer is not what this version knows.
    Answer(serde_json::Error),
    /// The terminal, a file or a pipe.
    Io(std::io::Error),
}

impl Error {
    /// Who reads the output has seen enough, as in `turnstile tail | head`.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Io(source) if source.kind() == std::io::ErrorKind::BrokenPipe)
    }

    pub fn no_answer(limit: Duration) -> Self {
        Error::Lost(format!("no answer for {} seconds", limit.as_secs()))
    }

    pub fn closed() -> Self {
        Error::Lost("the session has ended".to_owned())
    }

    /// Another session is needed, in which the same may well work. What the server refuses it would refuse there, too.
    pub fn has_lost(&self, client: &Client) -> bool {
        match self {
            Error::Connect { .. } | Error::Lost(_) => true,
            Error::Statement(source) => {
                client.is_closed() || source.as_db_error().is_none_or(ends_session)
            }
            _ => false,
        }
    }

    /// What the server has refused, and why.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Error::Statement(source) => source.as_db_error().map(Refusal::of),
            _ => None,
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Error::Usage(_) => exit::USAGE,
            Error::Connect { .. } | Error::Lost(_) => exit::NO_SERVER,
            Error::Statement(source) if source.as_db_error().is_none() => exit::NO_SERVER,
            Error::Statement(_) | Error::Answer(_) | Error::Io(_) => exit::REFUSED,
        })
    }
}

/// An error of the server, for JSON.
#[derive(Serialize)]
pub struct Refusal {
    sqlstate: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

impl Refusal {
    fn of(told: &DbError) -> Self {
        Self {
            sqlstate: told.code().code().to_owned(),
            message: told.message().to_owned(),
            detail: told.detail().map(str::to_owned),
            hint: hint(told).map(str::to_owned),
        }
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

/// What the server advises. It says nothing of a schema that is not there, and the extension makes that.
fn hint(told: &DbError) -> Option<&str> {
    let is_missing =
        told.code() == &SqlState::INVALID_SCHEMA_NAME && told.message().contains("turnstile");
    told.hint().or(is_missing.then_some(
        "Run CREATE EXTENSION turnstile in this database, or connect to the one that has it.",
    ))
}

impl From<tokio_postgres::Error> for Error {
    fn from(source: tokio_postgres::Error) -> Self {
        Error::Statement(source)
    }
}

impl From<serde_json::Error> for Error {
    fn from(source: serde_json::Error) -> Self {
        Error::Answer(source)
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        Error::Io(source)
    }
}

impl From<turnstile_client::Error> for Error {
    fn from(source: turnstile_client::Error) -> Self {
        use turnstile_client::Error as Of;
        match source {
            Of::Database(source) => Error::Statement(source),
            Of::Json(source) => Error::Answer(source),
            Of::Setup(message) => Error::Usage(message.to_owned()),
            Of::Signals(source) => Error::Io(source),
            other => Error::Lost(other.to_string()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(message) | Error::Lost(message) => formatter.write_str(message),
            Error::Connect { place, source } => {
                write!(formatter, "no connection to {place}: ")?;
                tell(formatter, source)
            }
            Error::Statement(source) => tell(formatter, source),
            Error::Answer(source) => write!(
                formatter,
                "the server's answer is of another version: {source}"
            ),
            Error::Io(source) => source.fmt(formatter),
        }
    }
}

fn ends_session(told: &DbError) -> bool {
    matches!(
        told.parsed_severity(),
        Some(Severity::Fatal | Severity::Panic)
    )
}

fn tell(formatter: &mut fmt::Formatter<'_>, error: &tokio_postgres::Error) -> fmt::Result {
    match error.as_db_error() {
        Some(told) => tell_as_server(formatter, told),
        None => formatter.write_str(&with_causes(error)),
    }
}

fn tell_as_server(formatter: &mut fmt::Formatter<'_>, told: &DbError) -> fmt::Result {
    write!(formatter, "{}: {}", told.code().code(), told.message())?;
    if let Some(detail) = told.detail() {
        write!(formatter, "\nDETAIL:  {detail}")?;
    }
    if let Some(hint) = hint(told) {
        write!(formatter, "\nHINT:  {hint}")?;
    }
    Ok(())
}

/// Many errors name only the stage; the cause is in the errors behind them.
pub fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let said = |error: &(dyn std::error::Error + 'static)| {
        distrust::words(error).unwrap_or_else(|| error.to_string())
    };
    let mut told = said(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = said(error);
        if !told.contains(&message) {
            told.push_str(": ");
            told.push_str(&message);
        }
        cause = error.source();
    }
    told
}
