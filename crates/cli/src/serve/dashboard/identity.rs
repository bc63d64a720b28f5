//! As whom the server is asked.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use crate::connection::{Failure, Pool};
use crate::listener::Problem;
use crate::query::Parameter;
use crate::serve::shares::Shares;

/// Two viewers with the same identity see the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The login of this program.
    Own,
    /// A role that the program becomes for each transaction.
    Role(Arc<str>),
    /// A login of the viewer's own, told apart by its password, too: a wrong one must not find what the right one has read.
    Login { user: Arc<str>, secret: [u8; 32] },
}

/// An identity with the connections that have it.
#[derive(Clone)]
pub struct Access {
    identity: Identity,
    database: Pool,
    /// Where roles have the connections together.
    shares: Option<Arc<Shares>>,
}

/// The SQLSTATE of a statement that was ended, as it took too long.
pub const TIMED_OUT: &str = "57014";
/// Objects of the schema that are not there, or not as this program knows them.
const OF_ANOTHER_VERSION: [&str; 4] = ["42703", "42704", "42883", "42P01"];

impl Access {
    pub fn new(identity: Identity, database: Pool) -> Self {
        Self {
            identity,
            database,
            shares: None,
        }
    }

    pub fn of_role(role: &str, database: Pool, shares: Arc<Shares>) -> Self {
        Self {
            identity: Identity::Role(role.into()),
            database,
            shares: Some(shares),
        }
    }

    /// The same with another limit of how long a statement may take.
    pub fn with_statement_timeout(&self, limit: Duration) -> Self {
        Self {
            database: self.database.clone().with_statement_timeout(limit),
            ..self.clone()
        }
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub async fn rows(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        match &self.identity {
            Identity::Role(role) => {
                let _share = match &self.shares {
                    Some(shares) => Some(shares.of(role).await?),
                    None => None,
                };
                self.database.rows_as(role, sql, parameters).await
            }
            Identity::Own | Identity::Login { .. } => {
                self.database.rows(None, sql, parameters).await
            }
        }
    }

    /// A viewer whom the server does not let in any more has to log in again.
    pub fn problem(&self, failure: Failure) -> Problem {
        match (&self.identity, failure) {
            (Identity::Login { user, .. }, Failure::Login(error)) => {
                tracing::warn!(%user, error, "a login is refused that was taken before");
                Problem::unauthorized("The database does not take this user and password any more.")
            }
            (_, failure) => explained(failure.into()),
        }
    }
}

fn explained(problem: Problem) -> Problem {
    match problem.code() {
        Some(code) if OF_ANOTHER_VERSION.contains(&code) => {
            let hint = "The extension and this program must be of the same version: ALTER EXTENSION turnstile UPDATE updates the extension.";
            let code = code.to_owned();
            Problem::of_another_version().sqlstate(&code).hint(Some(hint))
        }
        Some(TIMED_OUT) => problem.hint(Some(
            "It took longer than it may, or others held a lock for too long. What it did is undone.",
        )),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    #[test]
    fn another_version_is_told_as_one() {
        let told = |code: &str| {
            let problem = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "x").sqlstate(code);
            explained(problem)
        };
        for code in OF_ANOTHER_VERSION {
            let problem = told(code);
            assert!(problem.detail().contains("version"), "{code}");
            assert_eq!(problem.code(), Some(code));
            assert!(problem.advice().is_some());
        }
        assert!(told(TIMED_OUT).advice().is_some());
        assert_eq!(told("XX000").detail(), "x");
    }
}
