//! From a request to its answer: who asks, whether there is such a page for it, and what it gets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{ACCEPT, HeaderValue, LOCATION};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, Limited};
use tower::ServiceExt;

use super::answers::{coming_back, html, refused, told};
use super::document::document;
use super::fields::Fields;
use super::routes::{LEVERS, Lever, PAGES, Page};
use super::shared::Shared;
use super::view::View;
use super::{assets, guard, live, metrics};
use crate::listener::Problem;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const LONGEST_FORM: usize = 64 * 1024;
/// For all of a form, since a client that is heard of now and then could keep its place for ever.
const LONGEST_READ: Duration = Duration::from_secs(10);

pub fn router(shared: Arc<Shared>, others: Router) -> Router {
    let mut router = Router::new()
        .route("/metrics", get(metrics::answer))
        .merge(assets::routes());
    for page in PAGES {
        let show = async move |State(shared): State<Arc<Shared>>, request: Request| {
            coming_back(show(shared, page, request).await)
        };
        router = router.route(page.path, get(show));
    }
    for lever in LEVERS {
        let act =
            move |State(shared): State<Arc<Shared>>, request: Request| act(shared, lever, request);
        router = router.route(lever.path, post(act));
    }
    let elsewhere = move |State(shared): State<Arc<Shared>>, request: Request| {
        elsewhere(shared, others.clone(), request)
    };
    router
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        // Behind the guard, which knows nothing of those who take jobs.
        .fallback(elsewhere)
        .with_state(shared)
}

async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let answered = match guard::check_host(&shared.options, shared.logins.mode(), request.headers())
    {
        Ok(()) => next.run(request).await,
        Err(problem) => refused(&shared, &problem),
    };
    guard::protect(answered)
}

/// Who looks with a browser is told in a page that there is nothing.
async fn elsewhere(shared: Arc<Shared>, others: Router, request: Request) -> Response {
    let is_browser = accepts(request.headers(), "text/html");
    let answer = match others.oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    if is_browser && answer.status() == StatusCode::NOT_FOUND {
        let problem = Problem::not_found("There is nothing at this path.");
        return guard::protect(refused(&shared, &problem));
    }
    answer
}

async fn wrong_method(State(shared): State<Arc<Shared>>) -> Response {
    refused(
        &shared,
        &Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "The path does not take this method.",
        ),
    )
}

async fn show(shared: Arc<Shared>, page: &'static Page, request: Request) -> Response {
    let began = Instant::now();
    let (parts, _) = request.into_parts();
    let is_live = accepts(&parts.headers, "text/event-stream");
    let view = match View::of(&shared, &parts).await {
        Ok(view) => view,
        Err(problem) => return refused(&shared, &problem),
    };
    if !page.is_open_to(&view) {
        return told(&view, &view.missing_extension().unwrap_or_else(closed));
    }
    if is_live {
        return live::stream(view, page, &parts.headers).await;
    }
    let mut answer = match (page.draw)(view.clone()).await {
        Ok(content) => html(StatusCode::OK, document(&view, page.path, &content)),
        Err(problem) => told(&view, &problem),
    };
    let took = format!("page;dur={:.1}", began.elapsed().as_secs_f64() * 1000.0);
    if let Ok(value) = HeaderValue::from_str(&took) {
        answer.headers_mut().insert(SERVER_TIMING, value);
    }
    answer
}

async fn act(shared: Arc<Shared>, lever: &'static Lever, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(problem) = guard::check_write(&shared.options, &parts.headers) {
        return refused(&shared, &problem);
    }
    let view = match View::of(&shared, &parts).await {
        Ok(view) => view,
        Err(problem) => return refused(&shared, &problem),
    };
    if let Some(problem) = view.missing_extension() {
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

fn closed() -> Problem {
    Problem::new(
        StatusCode::FORBIDDEN,
        "Your role may not read what this page shows.",
    )
    .hint(Some(
        "turnstile.allow_monitor lets a role read figures, allow_operator figures and jobs, allow_tenant the jobs of tenants.",
    ))
}
