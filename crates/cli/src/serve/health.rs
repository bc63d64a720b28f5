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

/// Does it reach the server, and is turnstile there?
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "health",
    security(()),
    responses(
        (status = 200, description = "Both", body = String, content_type = "text/plain"),
        (status = 503, description = "It does not, or it is not", body = Problem, content_type = "application/problem+json",
            headers(("Retry-After" = u32, description = "Seconds")))
    )
)]
pub async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    let rows = app.ask(READY).await.map_err(Problem::repeatable)?;
    let missing: Option<&str> = match rows.first().map(|row| row.try_get(0)) {
        Some(Ok(missing)) => missing,
        _ => Some("The server's answer is of another version."),
    };
    match missing {
        None => Ok("ready\n"),
        Some(missing) => Err(Problem::unavailable(missing).repeatable()),
    }
}
