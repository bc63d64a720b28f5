//! What the bodies of calls say. All of them may be empty.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::listener::Problem;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    pub error: Option<String>,
    pub error_class: Option<String>,
    /// Seconds
    pub retry_in: Option<f64>,
    pub discard: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Seconds
    pub lease: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// As they were given, so that they stay what they are. The server refuses what is no number.
    pub done: Box<RawValue>,
    pub total: Option<Box<RawValue>>,
    pub message: Option<String>,
}

pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    // An array would be taken for the values in their order.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(Problem::bad_request("The body must be an object of JSON."));
    }
    serde_json::from_str(text)
        .map_err(|error| Problem::bad_request(format!("The body is wrong: {error}.")))
}

pub fn parse_or_default<T: DeserializeOwned + Default>(text: &str) -> Result<T, Problem> {
    if text.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    parse(text)
}

/// The server says what is too long; what is no time at all would be an error of make_interval that names no argument.
pub fn seconds(name: &str, given: Option<f64>) -> Result<Option<f64>, Problem> {
    match given {
        Some(seconds) if Duration::try_from_secs_f64(seconds).is_err() => Err(
            Problem::bad_request(format!("{name} must be seconds, 0 or more.")),
        ),
        given => Ok(given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_bodies_say_nothing() {
        let empty: Fail = parse_or_default(" \n").unwrap();
        assert!(empty.error.is_none() && empty.retry_in.is_none() && empty.discard.is_none());
        assert!(parse_or_default::<Heartbeat>("").unwrap().lease.is_none());
        assert!(parse::<Progress>("").is_err());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [
            "[]x",
            "[]",
            "[\"x\", 1, true]",
            "{\"retry\": 1}",
            "{\"retry_in\": \"1\"}",
            "{\"discard\": 1}",
            "null",
            "7",
        ] {
            assert!(parse_or_default::<Fail>(text).is_err(), "{text}");
        }
        for text in ["{}", "null", "[1, 2, \"x\"]"] {
            assert!(parse::<Progress>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn null_says_nothing() {
        let text = r#"{"error": null, "error_class": null, "retry_in": null, "discard": null}"#;
        let empty = parse::<Fail>(text).unwrap();
        assert!(empty.error.is_none() && empty.retry_in.is_none() && empty.discard.is_none());
        assert!(empty.error_class.is_none());
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("lease", Some(0.5)).unwrap(), Some(0.5));
        assert_eq!(seconds("lease", None).unwrap(), None);
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(seconds("lease", Some(wrong)).is_err(), "{wrong}");
        }
    }
}
