//! /v1/jobs: each method of a path is a module.

mod answers;
mod arguments;
pub mod cancel;
pub mod enqueue;
pub mod enqueue_many;
mod id;
mod idempotency;
mod query;
pub mod show;

use axum::Router;
use axum::routing::{get, post};

use super::app::App;

/// What is posted to is a kind, and what is looked at is an id: both are the last part of a path.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/v1/jobs", post(enqueue_many::enqueue_many))
        .route(
            "/v1/jobs/{name}",
            get(show::show)
                .post(enqueue::enqueue)
                .delete(cancel::cancel),
        )
}
