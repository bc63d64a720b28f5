//! What machines ask that keep this program running.

use axum::Router;
use axum::extract::State;
use axum::routing::get;

use super::app::App;
use crate::listener::Problem;

const READY: &str = include_str!("ready.sql");

pub fn routes() -> Router<App> {
    Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
}

/// Is this program up?
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "health",
    security(()),
    responses((status = 200, description = "It is", body = String, content_type = "text/plain"))
)]
pub async fn health() -> &'static str {
    "ok\n"
}

/// Does it reach the server?
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    security(()),
    responses(
        (status = 200, description = "It does", body = String, content_type = "text/plain"),
        (status = 503, description = "It does not", body = Problem, content_type = "application/problem+json",
            headers(("Retry-After" = u32, description = "Seconds")))
    )
)]
pub async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    app.ask(READY).await.map_err(Problem::repeatable)?;
    Ok("ready\n")
}
