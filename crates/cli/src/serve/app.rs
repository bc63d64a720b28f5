//! What all requests have, and the routes, put together of their parts.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use tokio_postgres::Row;

use super::tokens::TokenFile;
use super::waiters::Waiters;
use super::{document, health, jobs};
use crate::connection::Pool;
use crate::listener::{self, Problem};
use crate::query::Parameter;

#[derive(Clone)]
pub struct App(Arc<Shared>);

struct Shared {
    database: Pool,
    tokens: TokenFile,
    waiters: Waiters,
    max_body: usize,
    max_wait: Duration,
}

impl App {
    pub fn new(
        database: Pool,
        tokens: TokenFile,
        waiters: Waiters,
        max_body: usize,
        max_wait: Duration,
    ) -> Self {
        Self(Arc::new(Shared {
            database,
            tokens,
            waiters,
            max_body,
            max_wait,
        }))
    }

    pub fn router(self) -> Router {
        jobs::routes()
            .merge(health::routes())
            .merge(document::routes())
            .method_not_allowed_fallback(listener::wrong_method)
            .fallback(listener::not_found)
            // Bodies have a limit of their own, which says so as other problems are said.
            .layer(DefaultBodyLimit::disable())
            .with_state(self)
    }

    pub fn tokens(&self) -> &TokenFile {
        &self.0.tokens
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

    /// Runs a statement as a role, or as this program where there is none.
    pub async fn rows(
        &self,
        role: Option<&str>,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Problem> {
        Ok(self.0.database.rows(role, sql, parameters).await?)
    }
}
