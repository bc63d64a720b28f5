//! The description of all this in OpenAPI, made of the code.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::app::App;
use super::{health, jobs};
use crate::listener::Problem;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Turnstile",
        description = "Jobs by HTTP: turnstile serve. A token stands for a role of the database, whose rights decide on everything.",
        license(name = "PostgreSQL", identifier = "PostgreSQL")
    ),
    servers((url = "/", description = "Where this document comes from")),
    paths(
        jobs::enqueue::enqueue,
        jobs::enqueue_many::enqueue_many,
        jobs::show::show,
        jobs::cancel::cancel,
        health::health,
        health::ready,
        document
    ),
    components(schemas(Problem)),
    security(("token" = [])),
    modifiers(&Token),
    tags(
        (name = "jobs", description = "Add, look at and cancel jobs"),
        (name = "health", description = "For what keeps the program running"),
        (name = "document", description = "This document")
    )
)]
struct Document;

struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of the file of --tokens."))
            .build();
        if let Some(components) = document.components.as_mut() {
            components.add_security_scheme("token", SecurityScheme::Http(scheme));
        }
    }
}

pub fn routes() -> Router<App> {
    Router::new().route("/v1/openapi.json", get(document))
}

/// This document
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    tag = "document",
    security(()),
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value))
)]
async fn document() -> Result<impl IntoResponse, Problem> {
    let text = Document::openapi()
        .to_json()
        .map_err(|_| Problem::unavailable("The document cannot be made."))?;
    Ok(([(CONTENT_TYPE, "application/json")], text))
}
