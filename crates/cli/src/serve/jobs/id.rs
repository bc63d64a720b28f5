//! The id of a job in a path.

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;

use crate::listener::Problem;
use crate::serve::app::App;

pub struct Id(pub i64);

impl FromRequestParts<App> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Path::<i64>::from_request_parts(parts, app)
            .await
            .map(|Path(id)| Self(id))
            .map_err(|_| Problem::bad_request("The id of a job is a whole number."))
    }
}

/// Also where it is there, but not for the caller.
pub fn no_such_job(id: i64) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        format!("There is no job {id} that the caller may see."),
    )
}
