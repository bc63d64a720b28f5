//! From a request to its answer: who asks, whether there is such a page for it, and what it gets.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, Limited};
use tower::ServiceExt;

use super::capabilities::Capabilities;
use super::fields::Fields;
use super::logins::Mode;
use super::routes::{LEVERS, Lever, PAGES, Page};
use super::view::View;
use super::{Dashboard, assets, guard, live, metrics, pages};
use crate::listener::Problem;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const BASIC: HeaderValue = HeaderValue::from_static(r#"Basic realm="turnstile", charset="UTF-8""#);
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const LONGEST_FORM: usize = 64 * 1024;
/// For all of a form, since a client that is heard of now and then could keep its place for ever.
const LONGEST_READ: Duration = Duration::from_secs(10);

pub fn router(dashboard: Dashboard, others: Router) -> Router {
    let mut router = Router::new()
        .route("/metrics", get(metrics::answer))
        .merge(assets::routes());
    for page in PAGES {
        let show = move |State(dashboard): State<Dashboard>, request: Request| {
            show(dashboard, page, request)
        };
        router = router.route(page.path, get(show));
    }
    for lever in LEVERS {
        let act = move |State(dashboard): State<Dashboard>, request: Request| {
            act(dashboard, lever, request)
        };
        router = router.route(lever.path, post(act));
    }
    let elsewhere = move |State(dashboard): State<Dashboard>, request: Request| {
        elsewhere(dashboard, others.clone(), request)
    };
    router
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(dashboard.clone(), guarded))
        // Behind the guard, which knows nothing of those who take jobs.
        .fallback(elsewhere)
        .with_state(dashboard)
}

async fn guarded(State(dashboard): State<Dashboard>, request: Request, next: Next) -> Response {
    let shared = &dashboard.0;
    let answered = match guard::check_host(&shared.options, shared.logins.mode(), request.headers())
    {
        Ok(()) => next.run(request).await,
        Err(problem) => refused(&dashboard, &problem),
    };
    guard::protect(answered)
}

/// Who looks with a browser is told in a page that there is nothing.
async fn elsewhere(dashboard: Dashboard, others: Router, request: Request) -> Response {
    let is_browser = accepts(request.headers(), "text/html");
    let answer = match others.oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    if is_browser && answer.status() == StatusCode::NOT_FOUND {
        let problem = Problem::not_found("There is nothing at this path.");
        return guard::protect(refused(&dashboard, &problem));
    }
    answer
}

async fn wrong_method(State(dashboard): State<Dashboard>) -> Response {
    refused(
        &dashboard,
        &Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "The path does not take this method.",
        ),
    )
}

async fn show(dashboard: Dashboard, page: &'static Page, request: Request) -> Response {
    let began = Instant::now();
    let (parts, _) = request.into_parts();
    let is_live = accepts(&parts.headers, "text/event-stream");
    let view = match viewed(&dashboard, &parts).await {
        Ok(view) => view,
        Err(problem) => return refused(&dashboard, &problem),
    };
    if !page.is_open_to(&view) {
        return told(&view, &missing(&view).unwrap_or_else(closed));
    }
    if is_live {
        return live::stream(view, page, &parts.headers).await;
    }
    let mut answer = match (page.draw)(view.clone()).await {
        Ok(content) => html(StatusCode::OK, pages::document(&view, page.path, &content)),
        Err(problem) => told(&view, &problem),
    };
    let took = format!("page;dur={:.1}", began.elapsed().as_secs_f64() * 1000.0);
    if let Ok(value) = HeaderValue::from_str(&took) {
        answer.headers_mut().insert(SERVER_TIMING, value);
    }
    answer
}

async fn act(dashboard: Dashboard, lever: &'static Lever, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(problem) = guard::check_write(&dashboard.0.options, &parts.headers) {
        return refused(&dashboard, &problem);
    }
    let view = match viewed(&dashboard, &parts).await {
        Ok(view) => view,
        Err(problem) => return refused(&dashboard, &problem),
    };
    if let Some(problem) = missing(&view) {
        return told(&view, &problem);
    }
    let fields = match fields(body).await {
        Ok(fields) => fields,
        Err(problem) => return told(&view, &problem),
    };
    match (lever.act)(view.clone(), fields).await {
        Ok(done) => match HeaderValue::from_str(&done.location(&view)) {
            Ok(location) => (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response(),
            Err(_) => told(&view, &Problem::bad_request("The name cannot be in a URL.")),
        },
        Err(problem) => told(&view, &problem),
    }
}

/// Who asks, with what it may do.
pub async fn viewed(dashboard: &Dashboard, parts: &Parts) -> Result<View, Problem> {
    let access = dashboard.0.logins.of(&parts.headers).await?;
    let can = Capabilities::of(dashboard, &access)
        .await
        .inspect_err(|problem| {
            if problem.status() == StatusCode::UNAUTHORIZED {
                dashboard.0.logins.forget(access.identity());
            }
        })?;
    Ok(View::new(dashboard.clone(), access, can, parts.uri.clone()))
}

async fn fields(body: Body) -> Result<Fields, Problem> {
    let read = Limited::new(body, LONGEST_FORM).collect();
    let read = tokio::time::timeout(LONGEST_READ, read)
        .await
        .map_err(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "The form took too long."))?
        .map_err(|_| Problem::bad_request("The form has no end, or is too long."))?;
    Ok(Fields::read(&read.to_bytes()))
}

fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains(media_type))
}

/// Without the extension nothing is refused for want of a right.
pub fn missing(view: &View) -> Option<Problem> {
    if view.can.version.is_some() {
        return None;
    }
    let text = format!(
        "The database {} does not have the extension turnstile.",
        view.can.database
    );
    Some(Problem::unavailable(text))
}

fn closed() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "Your role may not read what this page shows.",
    )
    .hint(Some(
        "turnstile.allow_monitor lets a role read figures, allow_operator figures and jobs, allow_tenant the jobs of tenants.",
    ))
}

pub fn html(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, HTML)], text).into_response()
}

/// With all that a page has around it.
fn told(view: &View, problem: &Problem) -> Response {
    let content = pages::problem::content(problem);
    html(problem.status(), pages::document(view, "", &content))
}

/// For those of whom it is not known who they are.
pub fn refused(dashboard: &Dashboard, problem: &Problem) -> Response {
    let mut answer = pages::problem::alone(&dashboard.0.options.base, problem);
    let is_unknown = problem.status() == StatusCode::UNAUTHORIZED;
    if is_unknown && matches!(dashboard.0.logins.mode(), Mode::Basic) {
        answer.headers_mut().insert(WWW_AUTHENTICATE, BASIC);
    }
    answer
}
