//! Errors as RFC 9457 has them: application/problem+json.

use axum::Json;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
const BEARER: HeaderValue = HeaderValue::from_static("Bearer");

const RETRY_SECONDS: u32 = 2;

/// What is wrong with a request, or why it cannot be served now
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// The status of the answer
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What the status means
    title: String,
    /// What is wrong this time
    detail: String,
    /// The error of the server, if it is one: five characters
    #[serde(skip_serializing_if = "Option::is_none")]
    sqlstate: Option<String>,
    /// What to do
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip)]
    retry_after: Option<u32>,
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            detail: detail.into(),
            sqlstate: None,
            hint: None,
            retry_after: None,
        }
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn of_another_version() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The server's answer is of another version.",
        )
    }

    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The error of the server, if it is one.
    pub fn code(&self) -> Option<&str> {
        self.sqlstate.as_deref()
    }

    /// What to do.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub fn sqlstate(mut self, sqlstate: &str) -> Self {
        self.sqlstate = Some(sqlstate.to_owned());
        self
    }

    pub fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    /// Of a request that can be sent again whatever became of it.
    pub fn repeatable(mut self) -> Self {
        if self.status == StatusCode::SERVICE_UNAVAILABLE.as_u16() {
            self.retry_after.get_or_insert(RETRY_SECONDS);
        }
        self
    }

    /// Of the only element of an array that the caller knows nothing of.
    pub fn of_only_element(mut self) -> Self {
        if let Some(of_element) = self.detail.strip_prefix("element 1: ") {
            let told = of_element.split_once(": It is the first element that");
            if told.is_some() {
                self.hint = None;
            }
            self.detail = told.map_or(of_element, |(told, _)| told).to_owned();
        }
        self
    }

    /// Seconds. Only where it is known that nothing was done.
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let retry_after = self.retry_after;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, MEDIA_TYPE);
        if let Some(seconds) = retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, BEARER);
        }
        response
    }
}

pub async fn not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "There is nothing at this path.")
}

pub async fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "The path does not take this method.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_is_no_array() {
        let of = |detail: &str| {
            let problem = Problem::bad_request(detail).hint(Some("a hint"));
            let problem = problem.of_only_element();
            (problem.detail, problem.hint)
        };
        let kept = Some("a hint".to_owned());
        assert_eq!(
            of(
                "element 1: run_at is not a valid time: \"x\": It is the first element that is not a valid job, counted from 1"
            ),
            ("run_at is not a valid time: \"x\"".to_owned(), None)
        );
        assert_eq!(
            of("element 1: job 7 takes no children: It is completed."),
            (
                "job 7 takes no children: It is completed.".to_owned(),
                kept.clone()
            )
        );
        assert_eq!(
            of("job 7 does not exist"),
            ("job 7 does not exist".to_owned(), kept)
        );
    }
}
