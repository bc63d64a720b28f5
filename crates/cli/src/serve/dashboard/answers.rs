//! Pages as answers, and what is told where there is none.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, REFRESH, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};

use super::document::document;
use super::logins::Mode;
use super::pages;
use super::shared::Shared;
use super::view::View;
use crate::listener::Problem;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Seconds.
const AFTER_OUTAGE: HeaderValue = HeaderValue::from_static("5");
const BASIC: HeaderValue = HeaderValue::from_static(r#"Basic realm="turnstile", charset="UTF-8""#);

pub fn html(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, HTML)], text).into_response()
}

/// Who opens a page in an outage sees it when that is over.
pub fn coming_back(mut answer: Response) -> Response {
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(REFRESH, AFTER_OUTAGE);
    }
    answer
}

/// With all that a page has around it.
pub fn told(view: &View, problem: &Problem) -> Response {
    let content = pages::problem::content(problem);
    html(problem.status(), document(view, "", &content))
}

/// For those of whom it is not known who they are.
pub fn refused(shared: &Shared, problem: &Problem) -> Response {
    let page = pages::problem::alone(&shared.options.base, problem);
    let mut answer = html(problem.status(), page.into_string());
    let is_unknown = problem.status() == StatusCode::UNAUTHORIZED;
    if is_unknown && matches!(shared.logins.mode(), Mode::Basic) {
        answer.headers_mut().insert(WWW_AUTHENTICATE, BASIC);
    }
    answer
}
