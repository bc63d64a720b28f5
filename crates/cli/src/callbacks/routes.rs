//! The four calls.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::routing::post;
use axum::{Json, extract::DefaultBodyLimit};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_postgres::types::{FromSql, Type};

use super::app::App;
use super::bodies::{Fail, Heartbeat, Progress, parse, parse_or_default, seconds};
use super::run::Run;
use crate::listener::{self, Content, Problem};
use crate::query::Parameter;

const COMPLETE: &str = include_str!("sql/complete.sql");
const FAIL: &str = include_str!("sql/fail.sql");
const HEARTBEAT: &str = include_str!("sql/heartbeat.sql");
const PROGRESS: &str = include_str!("sql/progress.sql");

/// What the server keeps of a result is turnstile.max_payload, which is 1 MB if nobody has set it.
const LARGEST: usize = 1024 * 1024;

type Answer = Result<Json<Value>, Problem>;

pub fn all() -> Router<App> {
    Router::new()
        .route("/runs/{id}/{attempt}/complete", post(complete))
        .route("/runs/{id}/{attempt}/fail", post(fail))
        .route("/runs/{id}/{attempt}/heartbeat", post(heartbeat))
        .route("/runs/{id}/{attempt}/progress", post(progress))
        .method_not_allowed_fallback(listener::wrong_method)
        .fallback(listener::not_found)
        .layer(DefaultBodyLimit::disable())
}

/// A run that was completed before by the same call stays so: the answer to that may have been lost.
async fn complete(State(app): State<App>, run: Run, request: Request<Body>) -> Answer {
    let text = body(request).await?;
    let result = Some(text.trim_ascii()).filter(|text| !text.is_empty());
    let is_first: bool = app.call(COMPLETE, &run, &[(&result, Type::TEXT)]).await?;
    Ok(Json(json!({ "completed": is_first })))
}

async fn fail(State(app): State<App>, run: Run, request: Request<Body>) -> Answer {
    let Fail {
        error,
        error_class,
        retry_in,
        discard,
    } = parse_or_default(&body(request).await?)?;
    let retry_in = seconds("retry_in", retry_in)?;
    let discard = discard.unwrap_or_default();
    let state: String = app
        .call(
            FAIL,
            &run,
            &[
                (&error, Type::TEXT),
                (&retry_in, Type::FLOAT8),
                (&discard, Type::BOOL),
                (&error_class, Type::TEXT),
            ],
        )
        .await?;
    Ok(Json(json!({ "state": state })))
}

async fn heartbeat(State(app): State<App>, run: Run, request: Request<Body>) -> Answer {
    let Heartbeat { lease } = parse_or_default(&body(request).await?)?;
    let lease = seconds("lease", lease)?;
    let goes_on: bool = app.call(HEARTBEAT, &run, &[(&lease, Type::FLOAT8)]).await?;
    Ok(Json(json!({ "cancelled": !goes_on })))
}

async fn progress(State(app): State<App>, run: Run, request: Request<Body>) -> Answer {
    let Progress {
        done,
        total,
        message,
    } = parse(&body(request).await?)?;
    let (done, total) = (done.get(), total.as_deref().map(RawValue::get));
    let goes_on: bool = app
        .call(
            PROGRESS,
            &run,
            &[
                (&done, Type::TEXT),
                (&total, Type::TEXT),
                (&message, Type::TEXT),
            ],
        )
        .await?;
    Ok(Json(json!({ "cancelled": !goes_on })))
}

async fn body(request: Request<Body>) -> Result<String, Problem> {
    listener::read(request, LARGEST, Content::Any).await
}

impl App {
    /// The only value that a statement gives, whose first parameters are the run.
    async fn call<T>(&self, sql: &str, run: &Run, more: &[Parameter<'_>]) -> Result<T, Problem>
    where
        T: for<'a> FromSql<'a>,
    {
        let mut parameters: Vec<Parameter<'_>> =
            vec![(&run.id, Type::INT8), (&run.attempt, Type::INT4)];
        parameters.extend(more.iter().cloned());
        let rows = self.database.rows(None, sql, &parameters).await?;
        rows.first()
            .and_then(|row| row.try_get(0).ok())
            .ok_or_else(|| Problem::unavailable("The server's answer is of another version."))
    }
}
