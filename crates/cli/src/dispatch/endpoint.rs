//! An endpoint as the server has it, and as requests need it.

use std::time::Duration;

use hyper::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::Value;
use turnstile_client::Failure;

use super::class;
use crate::http::headers;
use crate::http::resolve::vet_url;
use crate::http::template::Template;

/// What `turnstile.endpoint_of` returns, as JSON.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Row {
    pub url: String,
    pub method: String,
    pub headers: Value,
    /// Seconds.
    pub timeout: Option<f64>,
    pub mode: Mode,
    pub permanent_status: Vec<u16>,
    pub concurrency_key: Option<String>,
    pub secret: Option<String>,
    pub allow_private: bool,
    pub keep_response: bool,
    pub cloudevents: bool,
    pub trial_after: u32,
    pub paused: bool,
    pub on_trial: bool,
}

#[cfg(test)]
impl Row {
    pub fn example() -> Self {
        Self {
            url: "https://example.com/".into(),
            method: "POST".into(),
            headers: serde_json::json!({}),
            timeout: None,
            mode: Mode::Sync,
            permanent_status: vec![422],
            concurrency_key: None,
            secret: None,
            allow_private: false,
            keep_response: true,
            cloudevents: false,
            trial_after: 5,
            paused: false,
            on_trial: false,
        }
    }
}

/// How the answer tells what has become of the run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By its status.
    Sync,
    /// By its status, and 202 announces a call back.
    Async,
    /// By its body.
    Fireworq,
}

/// The parts of a row that have to be read, read once.
#[derive(Debug)]
pub struct Endpoint {
    pub row: Row,
    pub method: Method,
    pub url: Template,
    pub headers: HeaderMap,
}

impl Endpoint {
    /// An error is one of the row, which no attempt mends.
    pub fn read(row: Row) -> Result<Self, Failure> {
        let url = Template::parse(&row.url).map_err(class::of(class::ENDPOINT))?;
        // Names are looked at when they are resolved.
        vet_url(url.base(), row.allow_private).map_err(class::of(class::ADDRESS))?;
        Ok(Self {
            url,
            method: Method::from_bytes(row.method.as_bytes())
                .map_err(|_| format!("{:?} is no method of HTTP", row.method))
                .map_err(class::of(class::ENDPOINT))?,
            headers: headers::custom(&row.headers).map_err(class::of(class::ENDPOINT))?,
            row,
        })
    }

    /// What the row allows a request, and never more than the lease: who is run again must not be running still.
    pub fn time_for(&self, lease: Duration) -> Duration {
        let wanted = self
            .row
            .timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let spare = (lease / 20).min(Duration::from_secs(1));
        wanted.unwrap_or(lease).min(lease.saturating_sub(spare))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_used_has_a_class() {
        let with_url = |url: &str| Row {
            url: url.into(),
            ..Row::example()
        };
        let bad_method = Row {
            method: "P OST".into(),
            ..Row::example()
        };
        let bad_headers = Row {
            headers: serde_json::json!({"a b": "c"}),
            ..Row::example()
        };
        for (row, expected) in [
            (with_url("http://127.0.0.1:8000/"), class::ADDRESS),
            (with_url("http://169.254.169.254/latest"), class::ADDRESS),
            (with_url("http://2130706433/"), class::ADDRESS),
            (with_url("http://[::ffff:127.0.0.1]/"), class::ADDRESS),
            (with_url("nowhere"), class::ENDPOINT),
            (bad_method, class::ENDPOINT),
            (bad_headers, class::ENDPOINT),
        ] {
            let told = format!("{row:?}");
            let failure = Endpoint::read(row).unwrap_err();
            assert_eq!(failure.class.as_deref(), Some(expected), "{told}");
        }
    }
}
