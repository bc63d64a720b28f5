//! Endpoints that have answered 202 call back here: how their runs go on, and how they have ended.
//!
//! A call proves by its token that it was given the run, before anything else of it is looked at. It acts with the rights of this
//! program's role, on that run alone.

mod app;
mod bodies;
mod routes;
mod run;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;

use crate::connection::Pool;
use crate::http::token::Tokens;
use crate::listener::{self, Limits};
use app::App;

const LIMITS: Limits = Limits {
    connections: 1_000,
    grace: Duration::from_secs(10),
    tls: None,
};

/// Takes callbacks until `shutdown`, and then ends what it has begun.
pub async fn serve(
    listener: TcpListener,
    database: Pool,
    tokens: Arc<Tokens>,
    shutdown: impl Future<Output = ()>,
) {
    listener::serve(listener, router(database, tokens), LIMITS, shutdown).await;
}

fn router(database: Pool, tokens: Arc<Tokens>) -> Router {
    routes::all().with_state(App { database, tokens })
}
