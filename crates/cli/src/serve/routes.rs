//! The routes for jobs, put together of their parts.

use axum::Router;
use axum::extract::DefaultBodyLimit;

use super::app::App;
use super::{document, health, jobs};
use crate::listener;

pub fn router(app: App) -> Router {
    let mut routes = health::routes();
    if app.takes_jobs() {
        routes = routes.merge(jobs::routes()).merge(document::routes());
    }
    routes
        .method_not_allowed_fallback(listener::wrong_method)
        .fallback(listener::not_found)
        // Bodies have a limit of their own, which says so as other problems are said.
        .layer(DefaultBodyLimit::disable())
        .with_state(app)
}
