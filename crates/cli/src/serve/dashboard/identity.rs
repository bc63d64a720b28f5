//! As whom the server is asked.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::connection::{Failure, Pool};
use crate::listener::Problem;
use crate::query::Parameter;

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
}

impl Access {
    pub fn new(identity: Identity, database: Pool) -> Self {
        Self { identity, database }
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub async fn rows(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        match &self.identity {
            Identity::Role(role) => self.database.rows_as(role, sql, parameters).await,
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
            (_, failure) => failure.into(),
        }
    }
}
