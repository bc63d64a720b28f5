//! GET /v1/jobs/{id}: a job, as soon as it has ended if that is asked for.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_postgres::types::Type;
use utoipa::{IntoParams, ToSchema};

use super::answers::OfLooking;

use super::id::{Id, no_such_job};
use super::query;
use crate::listener::Problem;
use crate::serve::app::App;
use crate::serve::caller::Caller;

const SHOW: &str = include_str!("sql/show.sql");

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct Options {
    /// How many seconds to wait for the end of the job, if it goes on. What is more than --max-wait counts as that
    #[param(minimum = 0)]
    wait: Option<f64>,
}

/// A job, as it is now
#[derive(Deserialize, Serialize, ToSchema)]
pub struct Job {
    id: i64,
    kind: String,
    /// available, scheduled, running, retryable, blocked; or finished: completed, cancelled, discarded
    state: String,
    queue: String,
    tenant: Option<String>,
    account: Option<String>,
    session: Option<String>,
    concurrency_key: Option<String>,
    unique_key: Option<String>,
    priority: i32,
    /// Claims so far
    attempt: i32,
    max_attempts: i32,
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    #[schema(value_type = serde_json::Value)]
    metadata: Option<Box<RawValue>>,
    /// What its run has kept
    #[schema(value_type = serde_json::Value)]
    result: Option<Box<RawValue>>,
    #[schema(value_type = serde_json::Value)]
    progress: Option<Box<RawValue>>,
    /// Of runs that have failed
    #[schema(value_type = serde_json::Value)]
    errors: Option<Box<RawValue>>,
    worker: Option<String>,
    parent: Option<i64>,
    #[schema(format = DateTime)]
    created_at: String,
    /// Not before this time. It may be infinity
    run_at: String,
    #[schema(format = DateTime)]
    started_at: Option<String>,
    /// It may be infinity
    lease_expires_at: Option<String>,
    #[schema(format = DateTime)]
    cancel_requested_at: Option<String>,
    /// null: it has not ended
    #[schema(format = DateTime)]
    finished_at: Option<String>,
}

/// Show a job
#[utoipa::path(
    get,
    path = "/v1/jobs/{name}",
    tag = "jobs",
    params(("name" = i64, Path, description = "The id of the job"), Options),
    responses((status = 200, description = "The job", body = Job), OfLooking)
)]
pub async fn show(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    uri: Uri,
) -> Result<Json<Job>, Problem> {
    let wait = wait(&uri, app.max_wait())?;
    let mut job = read(&app, &caller, id).await?;
    if job.finished_at.is_none() && !wait.is_zero() {
        app.waiters().wait(&caller.role, id, wait).await?;
        job = read(&app, &caller, id).await?;
    }
    Ok(Json(job))
}

fn wait(uri: &Uri, most: Duration) -> Result<Duration, Problem> {
    let options: Options = query::read(uri)?;
    let seconds = options.wait.unwrap_or_default();
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(Problem::bad_request("wait must be seconds, 0 or more."));
    }
    let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Ok(wait.min(most))
}

async fn read(app: &App, caller: &Caller, id: i64) -> Result<Job, Problem> {
    let rows = app
        .rows(
            &caller.role,
            SHOW,
            &[(&id, Type::INT8), (&caller.role, Type::TEXT)],
        )
        .await
        .map_err(Problem::repeatable)?;
    let row = rows.first().ok_or_else(|| no_such_job(id))?;
    let text: &str = row.try_get(0).map_err(|_| Problem::of_another_version())?;
    serde_json::from_str(text).map_err(|_| Problem::of_another_version())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_has_a_limit() {
        let of = |query: &str| {
            let uri = format!("/v1/jobs/1?{query}").parse().unwrap();
            wait(&uri, Duration::from_secs(60))
        };
        assert_eq!(of("").unwrap(), Duration::ZERO);
        assert_eq!(of("wait=0.5").unwrap(), Duration::from_millis(500));
        for long in ["wait=61", "wait=1e300"] {
            assert_eq!(of(long).unwrap(), Duration::from_secs(60), "{long}");
        }
        for wrong in [
            "wait=-1",
            "wait=nan",
            "wait=inf",
            "wait=",
            "wait=1s",
            "waits=1",
            "wait=1&wait=2",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
