//! What all requests for jobs have.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::shares::Shares;
use super::tokens::TokenFile;
use super::waiters::Waiters;
use crate::connection::Pool;
use crate::listener::Problem;
use crate::query::Parameter;

#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    database: Pool,
    /// Of its own, so that requests for jobs do not hold it up.
    health: Pool,
    shares: Shares,
    /// None: nobody adds jobs by HTTP.
    tokens: Option<TokenFile>,
    waiters: Waiters,
    max_body: usize,
    max_wait: Duration,
}

/// Who asks the server for something.
pub struct Servers {
    pub database: Pool,
    pub health: Pool,
    pub shares: Shares,
}

impl App {
    pub fn new(
        servers: Servers,
        tokens: Option<TokenFile>,
        waiters: Waiters,
        max_body: usize,
        max_wait: Duration,
    ) -> Self {
        let Servers {
            database,
            health,
            shares,
        } = servers;
        Self(Arc::new(Shared {
            database,
            health,
            shares,
            tokens,
            waiters,
            max_body,
            max_wait,
        }))
    }

    /// Whether anybody can add jobs by HTTP.
    pub fn takes_jobs(&self) -> bool {
        self.0.tokens.is_some()
    }

    pub fn role_of(&self, token: &str) -> Option<String> {
        self.0.tokens.as_ref()?.role_of(token)
    }

    pub fn waiters(&self) -> &Waiters {
        &self.0.waiters
    }

    pub fn max_body(&self) -> usize {
        self.0.max_body
    }

    pub fn max_wait(&self) -> Duration {
        self.0.max_wait
    }

    /// Runs a statement as a role, which has no more than its share of the connections.
    pub async fn rows(
        &self,
        role: &str,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Problem> {
        let _share = self.0.shares.of(role).await?;
        Ok(self.0.database.rows(Some(role), sql, parameters).await?)
    }

    /// Runs a statement as this program, without waiting for those of others.
    pub async fn ask(&self, sql: &str) -> Result<Vec<Row>, Problem> {
        Ok(self.0.health.rows(None, sql, &[]).await?)
    }
}
