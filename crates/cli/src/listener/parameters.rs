//! The parameters of an address, and what is wrong with them as a sentence.

use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use super::Problem;

/// What the parsers of numbers and of truth say, and what people do.
const REASONS: [(&str, &str); 6] = [
    ("invalid digit found in string", "it is no whole number"),
    (
        "cannot parse integer from empty string",
        "it is no whole number",
    ),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("invalid float literal", "it is no number"),
    (
        "provided string was not `true` or `false`",
        "it is neither true nor false",
    ),
];

pub fn parameters<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    Query::try_from_uri(uri)
        .map(|Query(read)| read)
        .map_err(|error| Problem::bad_request(sentence(&error.body_text())))
}

/// `told`: as axum and serde say it, "Failed to deserialize query string: priority: invalid digit found in string".
fn sentence(told: &str) -> String {
    let what = told.split_once(": ").map_or(told, |(_, what)| what);
    if let Some(name) = named(what, "missing field ") {
        return format!("The parameter {name} is missing.");
    }
    if let Some(name) = named(what, "duplicate field ") {
        return format!("The parameter {name} is there twice.");
    }
    if let Some(name) = named(what, "unknown field ") {
        return format!("There is no parameter {name}.");
    }
    match what.split_once(": ") {
        Some((name, reason)) => format!("The parameter {name} is wrong: {}.", in_words(reason)),
        None => format!("The parameters are wrong: {what}."),
    }
}

/// The name in "missing field `name`", which may stand behind the name itself.
fn named<'a>(what: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = what.split_once(before)?;
    rest.strip_prefix('`')?.split('`').next()
}

fn in_words(reason: &str) -> &str {
    REASONS
        .iter()
        .find(|(said, _)| *said == reason)
        .map_or(reason, |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code)]
    struct Asked {
        name: String,
        priority: Option<i32>,
        hold: Option<bool>,
        wait: Option<f64>,
    }

    #[test]
    fn what_is_wrong_is_told_in_sentences() {
        for (query, told) in [
            ("", "The parameter name is missing."),
            ("name=a&name=b", "The parameter name is there twice."),
            ("name=a&color=red", "There is no parameter color."),
            (
                "name=a&priority=high",
                "The parameter priority is wrong: it is no whole number.",
            ),
            (
                "name=a&priority=",
                "The parameter priority is wrong: it is no whole number.",
            ),
            (
                "name=a&priority=99999999999",
                "The parameter priority is wrong: it is too large.",
            ),
            (
                "name=a&priority=-99999999999",
                "The parameter priority is wrong: it is too small.",
            ),
            (
                "name=a&hold=yes",
                "The parameter hold is wrong: it is neither true nor false.",
            ),
            (
                "name=a&wait=soon",
                "The parameter wait is wrong: it is no number.",
            ),
        ] {
            let uri = format!("/?{query}").parse().unwrap();
            let problem = parameters::<Asked>(&uri).unwrap_err();
            assert_eq!(problem.detail(), told, "{query}");
        }
    }
}
