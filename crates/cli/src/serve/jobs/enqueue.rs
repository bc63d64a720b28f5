//! POST /v1/jobs/{kind}: a job, whose payload is the body.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use utoipa::ToSchema;

use super::answers::OfAdding;
use super::arguments::{self, Arguments};
use super::{idempotency, query};
use crate::listener::{self, Content, Problem};
use crate::serve::app::App;
use crate::serve::caller::Caller;

const ENQUEUE_MANY: &str = include_str!("sql/enqueue_many.sql");
const NO_PAYLOAD: &str = "{}";

/// A job that was added, or that which holds its unique key
#[derive(Debug, Serialize, ToSchema)]
pub struct Added {
    /// Names the job
    id: i64,
    /// false: no job was added, and id is that of the job that holds the unique key
    created: bool,
}

impl Added {
    pub fn is_new(&self) -> bool {
        self.created
    }

    fn of(row: &Row) -> Result<Self, Problem> {
        let read = || -> Result<Self, tokio_postgres::Error> {
            Ok(Self {
                id: row.try_get(0)?,
                created: row.try_get(1)?,
            })
        };
        read().map_err(|_| Problem::of_another_version())
    }
}

/// `jobs`: an array as enqueue_many takes it.
pub async fn add(app: &App, caller: &Caller, jobs: &str) -> Result<Vec<Added>, Problem> {
    let rows = app
        .rows(
            &caller.role,
            ENQUEUE_MANY,
            &[(&jobs, Type::TEXT), (&caller.role, Type::TEXT)],
        )
        .await?;
    rows.iter().map(Added::of).collect()
}

/// The kind of job in a path.
pub struct Kind(String);

impl FromRequestParts<App> for Kind {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Path::<String>::from_request_parts(parts, app)
            .await
            .map(|Path(kind)| Self(kind))
            .map_err(|_| Problem::bad_request("The kind in the path is not in UTF-8."))
    }
}

/// Add a job
#[utoipa::path(
    post,
    path = "/v1/jobs/{name}",
    tag = "jobs",
    params(
        ("name" = String, Path, description = "The kind: what sort of job it is: workers and routes decide by it"),
        Arguments,
        ("Idempotency-Key" = Option<String>, Header,
            description = "A request of the same role and tenant with the same key adds no second job for 24 hours. 1 to 128 characters of ASCII")
    ),
    request_body(content = Option<serde_json::Value>, content_type = "application/json",
        description = "The payload: any JSON. No body: {}"),
    responses(
        (status = 201, description = "The job was added", body = Added,
            headers(("Location" = String, description = "Where the job is shown"))),
        (status = 200, description = "Another job holds the unique key", body = Added,
            headers(("Location" = String, description = "Where that job is shown"))),
        OfAdding
    )
)]
pub async fn enqueue(
    State(app): State<App>,
    caller: Caller,
    Kind(kind): Kind,
    request: Request<Body>,
) -> Result<impl IntoResponse, Problem> {
    let arguments = query::read::<Arguments>(request.uri())?;
    let held = idempotency::unique_key(request.headers(), &caller.role)?;
    let mut payload = listener::read(request, app.max_body(), Content::Json).await?;
    if payload.trim_ascii().is_empty() {
        payload = NO_PAYLOAD.to_owned();
    }
    let payload = arguments::json("body", payload)?;
    let is_repeatable = held.is_some();
    let element = arguments.element(&kind, payload, held)?;
    let jobs = serde_json::to_string(&[element])
        .map_err(|error| Problem::bad_request(error.to_string()))?;
    let added = match add(&app, &caller, &jobs).await {
        Ok(added) => added.into_iter().next(),
        Err(problem) if is_repeatable => return Err(problem.of_only_element().repeatable()),
        Err(problem) => return Err(problem.of_only_element()),
    };
    let added = added.ok_or_else(Problem::of_another_version)?;
    let status = if added.created {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let place = format!("/v1/jobs/{}", added.id);
    Ok((status, [(LOCATION, place)], Json(added)))
}
