//! Why the server gave no answer to a statement of the pool, and whether the statement may have been done.

use tokio_postgres::error::{DbError, SqlState};

use crate::error::{Error, with_causes};

/// After a loss of this class nobody knows what the server has done. A pooler tells of it, too.
const LOST: &str = "08";

#[derive(Debug)]
pub enum Failure {
    /// No connection could be had, so nothing was done.
    NoServer(String),
    /// The server does not let the user in, not with this password, or not to this database.
    Login(String),
    /// Others had all connections of this program for too long, or those of the server, so nothing was done.
    Busy,
    /// The connection was lost, or there was no answer in time: it may have been done or not.
    Lost(String),
    /// The server does not let this program act as the role.
    Role(tokio_postgres::Error),
    Statement(tokio_postgres::Error),
}

impl Failure {
    /// 28000: the user may not log in, or not from here. 28P01: the password is wrong. 42501: the user may not connect to this database.
    pub fn of_connect(error: &tokio_postgres::Error) -> Self {
        match error.code().map(|state| state.code()) {
            Some(state) if state.starts_with("28") || state == "42501" => {
                Failure::Login(with_causes(error))
            }
            Some("53300") => Failure::Busy,
            Some("08P01") if error.as_db_error().is_some_and(is_of_pooler_about_login) => {
                Failure::Login(with_causes(error))
            }
            _ => Failure::NoServer(with_causes(error)),
        }
    }

    pub fn of(error: tokio_postgres::Error) -> Self {
        match error.code().map(|state| state.code()) {
            Some(state) if !state.starts_with(LOST) => Failure::Statement(error),
            _ => Failure::Lost(with_causes(&error)),
        }
    }

    /// A server that stops, or crashes, may say so when it has committed.
    pub fn of_commit(error: tokio_postgres::Error) -> Self {
        match error.code().map(|state| state.code()) {
            Some(state) if state.starts_with("57") => Failure::Lost(with_causes(&error)),
            _ => Failure::of(error),
        }
    }

    /// The role may not do that, or not any more.
    pub fn is_about_rights(&self) -> bool {
        match self {
            Failure::Role(_) => true,
            Failure::Statement(error) => error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            _ => false,
        }
    }

    /// 42501: this program is no member of the role. 22023: there is no such role.
    pub fn of_role(error: tokio_postgres::Error) -> Self {
        match error.code().map(|state| state.code()) {
            Some("42501" | "22023") => Failure::Role(error),
            _ => Failure::of(error),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoServer(reason) | Failure::Login(reason) | Failure::Lost(reason) => {
                Error::Lost(reason)
            }
            Failure::Busy => Error::Lost("all connections are in use".to_owned()),
            Failure::Role(source) | Failure::Statement(source) => Error::Statement(source),
        }
    }
}

/// PgBouncer has one SQLSTATE for all that goes wrong at the start of a session, and does not translate its messages.
fn is_of_pooler_about_login(told: &DbError) -> bool {
    let message = told.message();
    message.contains("authentication failed") || message.contains("no such user")
}
