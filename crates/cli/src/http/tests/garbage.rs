//! What endpoints, producers and operators may write into what is parsed here: any text gives an answer, and no panic.

use std::time::{Duration, SystemTime};

use hyper::header::HeaderValue;
use serde_json::json;

use super::random::Random;
use crate::http::signature::Keys;
use crate::http::{headers, retry_after};

const OF_DATES: &[&str] = &[
    "Sun",
    "Sunday",
    ",",
    " ",
    "  ",
    "-",
    ":",
    "06",
    "6",
    "31",
    "99",
    "00",
    "Nov",
    "Feb",
    "1994",
    "94",
    "9999",
    "0000",
    "1969",
    "08:49:37",
    "24:60:61",
    "GMT",
    "UTC",
    "+",
    ".",
    "e",
    "5",
    "18446744073709551616",
    "ä",
];

#[test]
fn any_retry_after_is_at_most_a_day() {
    let mut random = Random(1);
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    for _ in 0..100_000 {
        let text = random.of(OF_DATES, 12);
        let wait = retry_after::parse(&text, now);
        assert!(
            wait.is_none_or(|wait| wait <= Duration::from_secs(86_400)),
            "{text:?}"
        );
    }
}

const OF_TRACES: &[&str] = &[
    "00",
    "01",
    "ff",
    "-",
    "-",
    "-",
    "0af7651916cd43dd8448eb211c80319c",
    "b7ad6b7169203331",
    "0",
    "f",
    "F",
    "+",
    " ",
    "ä",
];

#[test]
fn any_trace_gives_a_valid_header() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let text = random.of(OF_TRACES, 9);
        let made = headers::traceparent(Some(&text)).unwrap();
        assert_eq!(made.len(), 55, "{text:?}");
        assert!(
            made.bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')),
            "{text:?}"
        );
    }
}

const OF_HEADERS: &[&str] = &[
    "x",
    "X",
    "-",
    "host",
    "content-length",
    "proxy-",
    "\r\n",
    "\n",
    "\0",
    "\t",
    " ",
    ":",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "ä",
    "\"",
    "%",
    "_",
];

#[test]
fn no_header_has_control_characters() {
    let mut random = Random(3);
    for _ in 0..50_000 {
        let (name, value) = (random.of(OF_HEADERS, 3), random.of(OF_HEADERS, 5));
        let visible = |value: &HeaderValue| {
            value
                .as_bytes()
                .iter()
                .all(|byte| *byte >= 0x20 && *byte != 0x7f)
        };
        assert!(
            headers::text(&value)
                .as_bytes()
                .iter()
                .all(|byte| (0x21..0x7f).contains(byte)),
            "{value:?}"
        );
        let Ok(made) = headers::custom(&json!({ name: value })) else {
            continue;
        };
        for (name, value) in &made {
            assert!(visible(value), "{name:?} {value:?}");
            assert!(
                !["host", "content-length"].contains(&name.as_str())
                    && !name.as_str().starts_with("proxy-")
            );
        }
    }
}

#[test]
fn any_text_is_secrets_or_an_error() {
    let mut random = Random(4);
    for _ in 0..20_000 {
        let text = random.of(
            &[
                "whsec_", "whsk_", "=", "==", "YQ", "a", " ", "\n", "+", "/", "-", "ä",
            ],
            8,
        );
        let count = text.split_whitespace().count();
        if let Ok(keys) = Keys::parse(&text) {
            assert_eq!(
                keys.sign("job_1", 0, b"{}").split(' ').count(),
                count,
                "{text:?}"
            );
        }
    }
}
