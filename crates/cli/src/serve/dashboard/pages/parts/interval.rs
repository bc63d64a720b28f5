//! The intervals of rates: those that most people choose, and any other in words.

use crate::serve::dashboard::html::time;

/// As the server reads them, in seconds and in words.
pub const USUAL: [(&str, f64, &str); 4] = [
    ("1 second", 1.0, "second"),
    ("1 minute", 60.0, "minute"),
    ("1 hour", 3_600.0, "hour"),
    ("1 day", 86_400.0, "day"),
];

/// "minute", or the span if it has no name.
pub fn per(seconds: f64) -> String {
    USUAL
        .iter()
        .find(|(_, usual, _)| *usual == seconds)
        .map_or_else(
            || time::span_text(seconds),
            |(_, _, words)| (*words).to_owned(),
        )
}
