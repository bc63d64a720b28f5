//! What an answer means for the run, and for the host.

use std::time::Duration;

use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use turnstile_client::{Failure, Outcome};

use super::endpoint::{Mode, Row};
use super::exchange::{Answer, Trouble};

/// What PostgreSQL keeps of an error has as many characters; the status stands before it.
const KEPT: usize = 1_000;

/// What the server is told of an endpoint: see `turnstile.report_endpoint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    Works,
    Failing,
    Busy(Duration),
    Gone,
}

impl Report {
    pub fn words(self) -> (&'static str, Option<Duration>) {
        match self {
            Report::Works => ("works", None),
            Report::Failing => ("failing", None),
            Report::Busy(pause) => ("busy", Some(pause)),
            Report::Gone => ("gone", None),
        }
    }
}

/// What a run says of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Works,
    Fails,
    Nothing,
}

#[derive(Debug)]
pub struct Verdict {
    pub outcome: Outcome,
    pub sign: Sign,
    pub report: Option<Report>,
}

pub fn of(endpoint: &Row, met: Result<Answer, Trouble>) -> Verdict {
    match met {
        Ok(answer) => match said(endpoint, &answer) {
            Some(outcome) => Verdict {
                outcome,
                sign: Sign::Works,
                report: None,
            },
            None => Verdict {
                outcome: outcome(endpoint, &answer),
                sign: sign(answer.status),
                report: report(&answer),
            },
        },
        Err(trouble) => Verdict {
            sign: match trouble {
                Trouble::Refused(_) => Sign::Nothing,
                Trouble::Network(_) | Trouble::Late(_) => Sign::Fails,
            },
            outcome: Outcome::Fail(Failure::new(trouble.to_string()).class(trouble.class())),
            report: None,
        },
    }
}

fn outcome(endpoint: &Row, answer: &Answer) -> Outcome {
    let status = answer.status;
    if endpoint.permanent_status.contains(&status.as_u16()) || status == StatusCode::GONE {
        return Outcome::Discard(failure(endpoint, answer));
    }
    if status.is_success() {
        return match endpoint.mode {
            Mode::Async if status == StatusCode::ACCEPTED => Outcome::HandOver,
            Mode::Fireworq => Outcome::Fail(
                Failure::new(format!(
                    "HTTP {status}, and the body is not as Fireworq has it"
                ))
                .class(class(status)),
            ),
            Mode::Sync | Mode::Async => Outcome::Complete(result(endpoint, answer)),
        };
    }
    let failure = failure(endpoint, answer);
    match answer.retry_after.filter(|_| may_say_when(status)) {
        Some(after) => Outcome::Retry {
            after: Some(after),
            failure,
        },
        None => Outcome::Fail(failure),
    }
}

/// The host itself has failed; that a request is not as it wants it is none of that.
fn sign(status: StatusCode) -> Sign {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::TOO_EARLY => Sign::Nothing,
        StatusCode::REQUEST_TIMEOUT => Sign::Fails,
        status if status.is_server_error() => Sign::Fails,
        _ => Sign::Works,
    }
}

fn report(answer: &Answer) -> Option<Report> {
    match (answer.status, answer.retry_after) {
        (StatusCode::GONE, _) => Some(Report::Gone),
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, Some(pause)) => {
            Some(Report::Busy(pause))
        }
        _ => None,
    }
}

fn may_say_when(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::TOO_EARLY | StatusCode::REQUEST_TIMEOUT
        )
}

fn result(endpoint: &Row, answer: &Answer) -> Option<Box<RawValue>> {
    if !endpoint.keep_response || !answer.is_whole || answer.body.is_empty() {
        return None;
    }
    serde_json::from_slice(&answer.body).ok()
}

fn failure(endpoint: &Row, answer: &Answer) -> Failure {
    Failure::new(described(endpoint, answer)).class(class(answer.status))
}

/// What retry curves go by.
fn class(status: StatusCode) -> String {
    format!("http.{}", status.as_u16())
}

fn described(endpoint: &Row, answer: &Answer) -> String {
    let status = format!("HTTP {}", answer.status);
    if !endpoint.keep_response || answer.body.is_empty() {
        return status;
    }
    let body = String::from_utf8_lossy(&answer.body);
    format!("{status}\n{}", body.chars().take(KEPT).collect::<String>())
}

/// What Fireworq expects of its workers.
#[derive(Deserialize)]
struct Fireworq {
    status: FireworqStatus,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FireworqStatus {
    Success,
    Failure,
    PermanentFailure,
}

/// In mode fireworq the body decides, whatever the status, if it is of that form.
fn said(endpoint: &Row, answer: &Answer) -> Option<Outcome> {
    if endpoint.mode != Mode::Fireworq {
        return None;
    }
    let said: Fireworq = serde_json::from_slice(&answer.body).ok()?;
    let message = Failure::new(said.message.chars().take(KEPT).collect::<String>());
    Some(match said.status {
        FireworqStatus::Success => Outcome::Complete(result(endpoint, answer)),
        FireworqStatus::Failure => Outcome::Fail(message),
        FireworqStatus::PermanentFailure => Outcome::Discard(message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn in_mode(mode: Mode) -> Row {
        Row {
            mode,
            ..Row::example()
        }
    }

    fn met(mode: Mode, status: u16, retry_after: Option<u64>, body: &'static str) -> Verdict {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: retry_after.map(Duration::from_secs),
            body: Bytes::from_static(body.as_bytes()),
            is_whole: true,
        };
        of(&in_mode(mode), Ok(answer))
    }

    fn kind(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Complete(None) => "completes",
            Outcome::Complete(Some(_)) => "completes with a result",
            Outcome::Fail(_) => "fails",
            Outcome::Retry { .. } => "fails until",
            Outcome::Discard(_) => "is discarded",
            Outcome::HandOver => "is handed over",
            _ => "something else",
        }
    }

    #[test]
    fn the_status_decides() {
        let busy = Some(Report::Busy(Duration::from_secs(7)));
        for (status, retry_after, expected, sign, report) in [
            (200, None, "completes with a result", Sign::Works, None),
            (202, None, "completes with a result", Sign::Works, None),
            (301, None, "fails", Sign::Works, None),
            (400, Some(7), "fails", Sign::Works, None),
            (404, None, "fails", Sign::Works, None),
            (408, None, "fails", Sign::Fails, None),
            (408, Some(7), "fails until", Sign::Fails, None),
            (410, None, "is discarded", Sign::Works, Some(Report::Gone)),
            (422, None, "is discarded", Sign::Works, None),
            (425, None, "fails", Sign::Nothing, None),
            (429, None, "fails", Sign::Nothing, None),
            (429, Some(7), "fails until", Sign::Nothing, busy),
            (500, None, "fails", Sign::Fails, None),
            (500, Some(7), "fails until", Sign::Fails, None),
            (503, Some(7), "fails until", Sign::Fails, busy),
        ] {
            let verdict = met(Mode::Sync, status, retry_after, "{}");
            assert_eq!(kind(&verdict.outcome), expected, "{status}");
            assert_eq!(verdict.sign, sign, "{status}");
            assert_eq!(verdict.report, report, "{status}");
        }
    }

    #[test]
    fn failures_are_classed_by_their_status_or_by_what_has_gone_wrong() {
        let class = |outcome| match outcome {
            Outcome::Fail(failure) | Outcome::Discard(failure) => failure.class,
            Outcome::Retry { failure, .. } => failure.class,
            _ => None,
        };
        for (status, retry_after) in [(429, None), (503, Some(7)), (422, None), (410, None)] {
            let verdict = met(Mode::Sync, status, retry_after, "");
            assert_eq!(class(verdict.outcome), Some(format!("http.{status}")));
        }
        for (trouble, expected) in [
            (Trouble::Refused(String::new()), "address"),
            (Trouble::Network(String::new()), "network"),
            (Trouble::Late(""), "timeout"),
        ] {
            assert_eq!(
                class(of(&Row::example(), Err(trouble)).outcome).as_deref(),
                Some(expected)
            );
        }
        let said = met(Mode::Fireworq, 500, None, r#"{"status": "failure"}"#);
        assert_eq!(class(said.outcome), None);
    }

    #[test]
    fn only_where_it_was_announced_is_a_run_handed_over() {
        assert_eq!(
            kind(&met(Mode::Async, 202, None, "").outcome),
            "is handed over"
        );
        assert_eq!(kind(&met(Mode::Async, 200, None, "").outcome), "completes");
    }

    #[test]
    fn for_fireworq_the_body_decides() {
        for (body, expected) in [
            (
                r#"{"status": "success", "message": "ok"}"#,
                "completes with a result",
            ),
            (r#"{"status": "failure"}"#, "fails"),
            (
                r#"{"status": "permanent-failure", "message": "no such user"}"#,
                "is discarded",
            ),
            (r#"{"status": "else"}"#, "fails"),
            ("ok", "fails"),
        ] {
            let verdict = met(Mode::Fireworq, 200, None, body);
            assert_eq!(kind(&verdict.outcome), expected, "{body}");
        }
        let failed = met(Mode::Fireworq, 500, None, r#"{"status": "success"}"#);
        assert_eq!(kind(&failed.outcome), "completes with a result");
        assert_eq!(failed.sign, Sign::Works);
        assert_eq!(kind(&met(Mode::Fireworq, 500, None, "").outcome), "fails");
    }

    #[test]
    fn bodies_are_kept_only_where_that_is_asked_for() {
        let answer = |body: &'static str| Answer {
            status: StatusCode::BAD_GATEWAY,
            retry_after: None,
            body: Bytes::from_static(body.as_bytes()),
            is_whole: true,
        };
        let mut row = Row::example();
        let is = |row: &Row, expected: &str| {
            let verdict = of(row, Ok(answer("secret")));
            assert!(matches!(verdict.outcome, Outcome::Fail(failure) if failure.error == expected));
        };
        is(&row, "HTTP 502 Bad Gateway\nsecret");
        row.keep_response = false;
        is(&row, "HTTP 502 Bad Gateway");
    }
}
