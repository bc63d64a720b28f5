//! The lines that go to and fro between the program and a long-lived child.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use turnstile_client::{Failure, Job, Outcome};

/// The id of the job, and the attempt.
pub type RunId = (i64, i32);

/// PostgreSQL knows times far beyond, but not for ever.
const LONGEST: f64 = 31_557_600_000.0;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Complete,
    Fail,
    Retry,
    Discard,
    Snooze,
    AwaitChildren,
}

/// A line of a child.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    id: i64,
    attempt: i32,
    status: Status,
    result: Option<Box<RawValue>>,
    error: Option<String>,
    error_class: Option<String>,
    #[serde(rename = "in")]
    seconds: Option<f64>,
}

pub fn question(job: &Job) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(job)?;
    line.push(b'\n');
    Ok(line)
}

impl Answer {
    /// An error says what is wrong with the line.
    pub fn read(line: &[u8]) -> Result<Self, String> {
        let answer: Self = serde_json::from_slice(line).map_err(|error| {
            let line: String = String::from_utf8_lossy(line).chars().take(200).collect();
            format!("the answer is not as it should be: {error}: {line}")
        })?;
        let seconds = answer.seconds;
        if !seconds.is_none_or(|seconds| (0.0..=LONGEST).contains(&seconds)) {
            return Err(format!(
                "\"in\" must be seconds, from 0 to {LONGEST} (1,000 years)"
            ));
        }
        if matches!(answer.status, Status::Snooze) && seconds.is_none() {
            return Err("\"snooze\" needs \"in\"".to_owned());
        }
        Ok(answer)
    }

    pub fn run(&self) -> RunId {
        (self.id, self.attempt)
    }

    pub fn outcome(self, retry_in: Duration) -> Outcome {
        let seconds = self.seconds.map(Duration::try_from_secs_f64);
        let after = seconds.and_then(Result::ok).unwrap_or(retry_in);
        let error = self.error.unwrap_or_else(|| "no reason given".to_owned());
        let failure = match self.error_class {
            Some(class) => Failure::new(error).class(class),
            None => Failure::new(error),
        };
        match self.status {
            Status::Complete => Outcome::Complete(self.result),
            Status::Fail => Outcome::Fail(failure),
            Status::Retry => Outcome::Retry {
                after: Some(after),
                failure,
            },
            Status::Discard => Outcome::Discard(failure),
            Status::Snooze => Outcome::Snooze(after),
            Status::AwaitChildren => Outcome::AwaitChildren,
        }
    }
}
