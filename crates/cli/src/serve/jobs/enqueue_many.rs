//! POST /v1/jobs: many jobs, all or none.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use super::answers::OfAdding;
use super::enqueue::{Added, add};
use crate::listener::{self, Content, Problem};
use crate::serve::app::App;
use crate::serve::caller::Caller;

/// The jobs, in the order of the array
#[derive(Serialize, ToSchema)]
pub struct AddedMany {
    jobs: Vec<Added>,
}

/// Add many jobs, all or none
#[utoipa::path(
    post,
    path = "/v1/jobs",
    tag = "jobs",
    request_body(content = Vec<serde_json::Map<String, serde_json::Value>>, content_type = "application/json",
        description = "An array as turnstile.enqueue_many takes it: objects whose keys are the arguments of turnstile.enqueue, and ref and after_refs"),
    responses(
        (status = 201, description = "Some were added", body = AddedMany),
        (status = 200, description = "None was added, as other jobs hold all the unique keys, or the array is empty", body = AddedMany),
        OfAdding
    )
)]
pub async fn enqueue_many(
    State(app): State<App>,
    caller: Caller,
    request: Request<Body>,
) -> Result<impl IntoResponse, Problem> {
    if request.uri().query().is_some_and(|query| !query.is_empty()) {
        return Err(Problem::bad_request(
            "There are no query parameters here: each element of the array has its own arguments.",
        ));
    }
    let text = listener::read(request, app.max_body(), Content::Json).await?;
    let jobs = add(&app, &caller, &text).await?;
    let status = if jobs.iter().any(Added::is_new) {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(AddedMany { jobs })))
}
