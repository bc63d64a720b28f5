//! DELETE /v1/jobs/{id}: cancels a job.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tokio_postgres::types::Type;
use utoipa::ToSchema;

use super::answers::OfChanging;

use super::id::Id;
use crate::listener::Problem;
use crate::serve::app::App;
use crate::serve::caller::Caller;

const CANCEL: &str = include_str!("sql/cancel.sql");

/// What has become of a job that was to be cancelled
#[derive(Serialize, ToSchema)]
pub struct Cancelled {
    id: i64,
    /// cancelled: it has ended. running: its run was asked to stop
    #[schema(example = "cancelled")]
    state: String,
}

/// Cancel a job
#[utoipa::path(
    delete,
    path = "/v1/jobs/{name}",
    tag = "jobs",
    params(("name" = i64, Path, description = "The id of the job")),
    responses(
        (status = 200, description = "It is cancelled, or its run was asked to stop", body = Cancelled),
        OfChanging
    )
)]
pub async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Cancelled>, Problem> {
    let rows = app
        .rows(
            &caller.role,
            CANCEL,
            &[(&id, Type::INT8), (&caller.role, Type::TEXT)],
        )
        .await
        .map_err(Problem::repeatable)?;
    let state = rows.first().and_then(|row| row.try_get(0).ok());
    let state = state.ok_or_else(Problem::of_another_version)?;
    Ok(Json(Cancelled { id, state }))
}
