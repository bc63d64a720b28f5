//! The failed attempts of a job. The column may hold whatever somebody has written into it.

use serde_json::Value;
use serde_json::value::RawValue;

use super::when::seconds;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failure {
    pub attempt: Option<i64>,
    pub at: Option<f64>,
    pub worker: Option<String>,
    pub error: Option<String>,
}

/// The oldest first.
pub fn failures(errors: Option<&RawValue>) -> Vec<Failure> {
    let listed: Option<Vec<Value>> = errors.and_then(|text| serde_json::from_str(text.get()).ok());
    listed.unwrap_or_default().iter().map(failure).collect()
}

fn failure(entry: &Value) -> Failure {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    Failure {
        attempt: entry.get("attempt").and_then(Value::as_i64),
        at: text("at").and_then(seconds),
        worker: text("worker").map(str::to_owned),
        error: text("error").map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Failure> {
        failures(Some(&RawValue::from_string(text.to_owned()).unwrap()))
    }

    #[test]
    fn failed_attempts_are_read() {
        let read = read(
            r#"[{"at": "1970-01-01T00:01:00+00:00", "error": "no", "worker": "w", "attempt": 2}]"#,
        );
        let failure = Failure {
            attempt: Some(2),
            at: Some(60.0),
            worker: Some("w".to_owned()),
            error: Some("no".to_owned()),
        };
        assert_eq!(read, [failure]);
        assert!(failures(None).is_empty());
    }

    #[test]
    fn anything_else_is_no_error() {
        assert!(read("{}").is_empty() && read("3").is_empty());
        assert_eq!(
            read(r#"["x", {"at": 3, "attempt": "x"}]"#),
            [Failure::default(), Failure::default()]
        );
    }
}
