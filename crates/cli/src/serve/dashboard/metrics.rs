//! /metrics: the view turnstile.metrics in the text format of OpenMetrics.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value as Json;

use super::answers::refused;
use super::shared::Shared;
use super::view::View;
use crate::listener::Problem;

const METRICS: &str = include_str!("sql/metrics.sql");
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

#[derive(Deserialize)]
struct Sample {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    help: String,
    labels: Option<serde_json::Map<String, Json>>,
    value: Option<f64>,
}

pub async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match read(&shared, &parts).await {
        Ok(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(problem) => refused(&shared, &problem),
    }
}

async fn read(shared: &Arc<Shared>, parts: &Parts) -> Result<String, Problem> {
    let view = View::of(shared, parts).await?;
    if let Some(problem) = view.missing_extension() {
        return Err(problem);
    }
    let mut samples: Vec<Sample> = view.rows(METRICS, &[]).await?;
    // The samples of one family must stand together; the view has those of a queue together.
    samples.sort_by(|one, other| family(one).cmp(family(other)));
    Ok(written(&samples))
}

/// In the order in which they are.
fn written(samples: &[Sample]) -> String {
    let mut text = String::new();
    let mut last = "";
    for sample in samples {
        let family = family(sample);
        if family != last {
            _ = writeln!(text, "# TYPE {family} {}", sample.kind);
            _ = writeln!(text, "# HELP {family} {}", escaped(&sample.help));
            last = family;
        }
        _ = writeln!(text, "{}{} {}", sample.name, labels(sample), value(sample));
    }
    text.push_str("# EOF\n");
    text
}

/// A counter's samples end in _total, a histogram's in three ways.
fn family(sample: &Sample) -> &str {
    let suffixes: &[&str] = match sample.kind.as_str() {
        "counter" => &["_total"],
        "histogram" => &["_bucket", "_sum", "_count"],
        _ => &[],
    };
    suffixes
        .iter()
        .find_map(|suffix| sample.name.strip_suffix(suffix))
        .unwrap_or(&sample.name)
}

fn labels(sample: &Sample) -> String {
    let Some(labels) = sample.labels.as_ref().filter(|labels| !labels.is_empty()) else {
        return String::new();
    };
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| match value {
            Json::String(text) => format!("{name}=\"{}\"", escaped(text)),
            other => format!("{name}=\"{}\"", escaped(&other.to_string())),
        })
        .collect();
    format!("{{{}}}", pairs.join(","))
}

fn value(sample: &Sample) -> String {
    match sample.value {
        Some(value) if value.is_finite() => value.to_string(),
        _ => "NaN".to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_one_head() {
        let samples: Vec<Sample> = serde_json::from_str(
            r#"[{"name": "a_total", "type": "counter", "help": "x\n\\", "labels": {"queue": "q\"\n"}, "value": 1},
                {"name": "a_total", "type": "counter", "help": "x", "labels": {}, "value": 2.5},
                {"name": "h_bucket", "type": "histogram", "help": "h", "labels": {"le": "1"}, "value": 3},
                {"name": "h_sum", "type": "histogram", "help": "h", "labels": null, "value": null}]"#,
        )
        .unwrap();
        assert_eq!(
            written(&samples),
            "# TYPE a counter\n# HELP a x\\n\\\\\na_total{queue=\"q\\\"\\n\"} 1\na_total 2.5\n\
             # TYPE h histogram\n# HELP h h\nh_bucket{le=\"1\"} 3\nh_sum NaN\n# EOF\n"
        );
    }
}
