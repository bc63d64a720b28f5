//! The request for a run: its payload as body, and headers that say which run it is, prove where it comes from, and let an endpoint
//! tell a repetition.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use serde::Deserialize;
use turnstile_client::{Failure, Job, rfc3339};

use super::class;
use super::endpoint::{Endpoint, Mode};
use crate::http::headers::{self, CloudEvent, text};
use crate::http::payload::Payload;
use crate::http::secrets::Secrets;
use crate::http::signature::Keys;
use crate::http::token::Tokens;

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("turnstile/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// W3C has all parties pass on as much; hosts may refuse heads that are much longer.
const LONGEST_STATE: usize = 512;

/// What all requests of a dispatcher have in common.
pub struct Requests {
    pub secrets: Secrets,
    /// The `source` of CloudEvents.
    pub source: String,
    pub callbacks: Option<Callbacks>,
}

/// Where endpoints call back, and what proves that they may.
pub struct Callbacks {
    pub url: String,
    pub tokens: Arc<Tokens>,
}

/// Where the trace goes on.
#[derive(Default, Deserialize)]
struct Trace {
    traceparent: Option<String>,
    tracestate: Option<String>,
}

impl Requests {
    /// `time`: how long the request may last. An error is one of the endpoint or of the payload.
    pub fn of(
        &self,
        endpoint: &Endpoint,
        job: &Job,
        time: Duration,
        body: &[u8],
        payload: Payload,
    ) -> Result<Request<Payload>, Failure> {
        let url = endpoint
            .url
            .expand(&job.payload)
            .map_err(class::of(class::PAYLOAD))?;
        let mut request = Request::builder()
            .method(endpoint.method.clone())
            .uri(url.as_str())
            .body(payload)
            .map_err(|error| format!("{url} is no address of a request: {error}"))
            .map_err(class::of(class::PAYLOAD))?;
        let headers = request.headers_mut();
        *headers = endpoint.headers.clone();
        headers.entry(CONTENT_TYPE).or_insert(JSON);
        headers.entry(USER_AGENT).or_insert(AGENT);
        add_run(headers, job, time);
        add_trace(headers, job);
        if endpoint.row.cloudevents {
            self.event(job, &name(job), &rfc3339(job.created_at))
                .write(headers);
        }
        if let Some(reference) = &endpoint.row.secret {
            let keys = self
                .secrets
                .get(reference)
                .map_err(class::of(class::ENDPOINT))?;
            add_signature(headers, job, &keys, body);
        }
        if endpoint.row.mode == Mode::Async {
            self.callbacks
                .as_ref()
                .ok_or("the endpoint is async, and this dispatcher has no --callbacks")
                .map_err(class::of(class::ENDPOINT))?
                .add(headers, job);
        }
        Ok(request)
    }

    fn event<'a>(&'a self, job: &'a Job, id: &'a str, time: &'a str) -> CloudEvent<'a> {
        CloudEvent {
            id,
            source: &self.source,
            kind: &job.kind,
            time,
        }
    }
}

/// What an endpoint is sent: methods whose bodies mean nothing have none.
pub fn body(endpoint: &Endpoint, job: &Job) -> Bytes {
    match endpoint.method {
        Method::GET | Method::HEAD | Method::DELETE => Bytes::new(),
        _ => Bytes::copy_from_slice(job.payload.get().as_bytes()),
    }
}

/// The same for all attempts.
fn name(job: &Job) -> String {
    format!("job_{}", job.id)
}

fn add_run(headers: &mut HeaderMap, job: &Job, time: Duration) {
    let name = name(job);
    let deadline = rfc3339(SystemTime::now() + time);
    for (header, value) in [
        ("webhook-id", Some(text(&name))),
        ("idempotency-key", quoted(&name)),
        ("turnstile-job-id", Some(job.id.into())),
        ("turnstile-attempt", Some(job.attempt.into())),
        ("turnstile-max-attempts", Some(job.max_attempts.into())),
        ("turnstile-queue", Some(text(&job.queue))),
        ("turnstile-kind", Some(text(&job.kind))),
        ("turnstile-tenant", job.tenant.as_deref().map(text)),
        ("turnstile-deadline", Some(text(&deadline))),
    ] {
        set(headers, header, value);
    }
}

/// Without a value it is taken away: no row of endpoints says what only the run knows.
fn set(headers: &mut HeaderMap, name: &'static str, value: Option<HeaderValue>) {
    let name = HeaderName::from_static(name);
    match value {
        Some(value) => _ = headers.insert(name, value),
        None => _ = headers.remove(name),
    }
}

/// The header is a string of Structured Fields.
fn quoted(text: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{text}\"")).ok()
}

fn add_trace(headers: &mut HeaderMap, job: &Job) {
    let trace: Trace = job
        .metadata
        .as_ref()
        .and_then(|metadata| serde_json::from_str(metadata.get()).ok())
        .unwrap_or_default();
    let parent = headers::traceparent(trace.traceparent.as_deref());
    set(headers, "traceparent", parent.as_deref().map(text));
    let state = trace
        .tracestate
        .filter(|state| trace.traceparent.is_some() && state.len() <= LONGEST_STATE);
    set(
        headers,
        "tracestate",
        state.and_then(|state| state.try_into().ok()),
    );
}

fn add_signature(headers: &mut HeaderMap, job: &Job, keys: &Keys, body: &[u8]) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let signatures = keys.sign(&name(job), seconds, body);
    set(headers, "webhook-timestamp", Some(seconds.into()));
    set(headers, "webhook-signature", signatures.try_into().ok());
}

impl Callbacks {
    fn add(&self, headers: &mut HeaderMap, job: &Job) {
        let url = format!(
            "{}/runs/{}/{}",
            self.url.trim_end_matches('/'),
            job.id,
            job.attempt
        );
        let token = self.tokens.token(job.id, job.attempt);
        set(headers, "turnstile-callback", url.try_into().ok());
        set(headers, "turnstile-callback-token", token.try_into().ok());
    }
}
