//! The request for a run: its payload as body, and headers that say which run it is, prove where it comes from, and let an endpoint
//! tell a repetition.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request};
use serde::Deserialize;
use turnstile_client::{Job, rfc3339};

use super::endpoint::{Endpoint, Mode};
use crate::http::payload::Payload;
use crate::http::secrets::Secrets;
use crate::http::token::Tokens;
use crate::http::{headers, signature};

const AGENT: &str = concat!("turnstile/", env!("CARGO_PKG_VERSION"));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

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
        payload: Payload,
    ) -> Result<Request<Payload>, String> {
        let url = endpoint.url.expand(&job.payload).map_err(|error| error.to_string())?;
        let mut request = Request::builder()
            .method(endpoint.method.clone())
            .uri(url.as_str())
            .body(payload)
            .map_err(|error| format!("{url} is no address of a request: {error}"))?;
        let body = body(endpoint, job);
        let headers = request.headers_mut();
        *headers = endpoint.headers.clone();
        headers.entry(CONTENT_TYPE).or_insert(JSON);
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        add_run(headers, job, time);
        add_trace(headers, job);
        if endpoint.row.cloudevents {
            headers.extend(headers::cloudevents(&name(job), &self.source, &job.kind, job.created_at));
        }
        if let Some(reference) = &endpoint.row.secret {
            let secrets = self.secrets.get(reference).map_err(|error| error.to_string())?;
            add_signature(headers, job, &secrets, &body);
        }
        if endpoint.row.mode == Mode::Async {
            self.callbacks
                .as_ref()
                .ok_or("the endpoint is async, and this dispatcher has no --callbacks")?
                .add(headers, job);
        }
        Ok(request)
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
    let deadline = rfc3339(SystemTime::now() + time);
    let texts = [
        ("webhook-id", Some(name(job))),
        ("idempotency-key", Some(format!("\"{}\"", name(job)))),
        ("turnstile-job-id", Some(job.id.to_string())),
        ("turnstile-attempt", Some(job.attempt.to_string())),
        ("turnstile-max-attempts", Some(job.max_attempts.to_string())),
        ("turnstile-queue", Some(headers::text(&job.queue))),
        ("turnstile-kind", Some(headers::text(&job.kind))),
        ("turnstile-tenant", job.tenant.as_deref().map(headers::text)),
        ("turnstile-deadline", Some(deadline)),
    ];
    for (name, text) in texts {
        add(headers, HeaderName::from_static(name), text);
    }
}

fn add(headers: &mut HeaderMap, name: HeaderName, text: Option<String>) {
    match text.and_then(|text| HeaderValue::try_from(text).ok()) {
        Some(value) => _ = headers.insert(name, value),
        None => _ = headers.remove(name),
    }
}

fn add_trace(headers: &mut HeaderMap, job: &Job) {
    let trace: Trace = job
        .metadata
        .as_ref()
        .and_then(|metadata| serde_json::from_str(metadata.get()).ok())
        .unwrap_or_default();
    let (parent, goes_on) = headers::traceparent(trace.traceparent.as_deref());
    add(headers, HeaderName::from_static("traceparent"), Some(parent));
    let state = trace.tracestate.filter(|_| goes_on);
    add(headers, HeaderName::from_static("tracestate"), state);
}

fn add_signature(headers: &mut HeaderMap, job: &Job, secrets: &[signature::Secret], body: &[u8]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs();
    let signed = signature::sign(secrets, &name(job), seconds, body);
    add(headers, HeaderName::from_static("webhook-timestamp"), Some(seconds.to_string()));
    add(headers, HeaderName::from_static("webhook-signature"), Some(signed));
}

impl Callbacks {
    fn add(&self, headers: &mut HeaderMap, job: &Job) {
        let url = format!("{}/runs/{}/{}", self.url.trim_end_matches('/'), job.id, job.attempt);
        let token = self.tokens.token(job.id, job.attempt);
        add(headers, HeaderName::from_static("turnstile-callback"), Some(url));
        add(headers, HeaderName::from_static("turnstile-callback-token"), Some(token));
    }
}
