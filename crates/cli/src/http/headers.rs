//! Headers of requests: those that an endpoint's row asks for, the trace that a job belongs to, and those of CloudEvents.

use std::fmt;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;

// ---- Of an endpoint -------------------------------------------------------------------------------

/// What the connection itself says, and what a proxy would take for itself.
const FORBIDDEN: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "expect",
];

/// A map of headers panics where there are tens of thousands.
const MOST: usize = 1_000;

/// A header that cannot be sent. Its value may be a secret and is not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub name: String,
    pub reason: &'static str,
}

impl fmt::Display for Wrong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the header {:?} {}", self.name, self.reason)
    }
}

impl std::error::Error for Wrong {}

/// The headers of a JSON object.
pub fn custom(object: &Value) -> Result<HeaderMap, Wrong> {
    let wrong = |name: &str, reason| Wrong {
        name: name.to_owned(),
        reason,
    };
    let Value::Object(members) = object else {
        return Err(wrong("", "is not in a JSON object"));
    };
    if members.len() > MOST {
        return Err(wrong("", "is one of too many"));
    }
    let mut headers = HeaderMap::with_capacity(members.len());
    for (name, value) in members {
        let (key, value) = header(name, value).map_err(|reason| wrong(name, reason))?;
        if headers.insert(key, value).is_some() {
            return Err(wrong(name, "is there twice, in upper and lower case"));
        }
    }
    Ok(headers)
}

fn header(name: &str, value: &Value) -> Result<(HeaderName, HeaderValue), &'static str> {
    let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "has a name that is no token")?;
    if FORBIDDEN.contains(&key.as_str()) || key.as_str().starts_with("proxy-") {
        return Err("belongs to the connection");
    }
    let Value::String(text) = value else {
        return Err("is not a string");
    };
    if text.chars().any(char::is_control) {
        return Err("has control characters");
    }
    let mut value = HeaderValue::from_bytes(text.as_bytes())
        .map_err(|_| "has characters that no header may have")?;
    // Many are tokens: neither a log nor the table of HTTP/2 gets to know them.
    value.set_sensitive(true);
    Ok((key, value))
}

// ---- Any text as a value --------------------------------------------------------------------------

/// What the HTTP binding of CloudEvents encodes: all but visible ASCII, and quotes and percent signs.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// A header that has any text, percent-encoded where it must be.
pub fn text(value: &str) -> HeaderValue {
    let encoded = utf8_percent_encode(value, ENCODED).to_string();
    HeaderValue::from_str(&encoded).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The attributes of a job as a CloudEvent, in binary mode.
#[derive(Clone, Copy, Debug)]
pub struct CloudEvent<'a> {
    pub id: &'a str,
    pub source: &'a str,
    pub kind: &'a str,
    /// As RFC 3339 has it.
    pub time: &'a str,
}

impl CloudEvent<'_> {
    pub fn write(&self, headers: &mut HeaderMap) {
        for (name, value) in [
            ("ce-specversion", "1.0"),
            ("ce-id", self.id),
            ("ce-source", self.source),
            ("ce-type", self.kind),
            ("ce-time", self.time),
        ] {
            headers.insert(HeaderName::from_static(name), text(value));
        }
    }
}

// ---- The trace ------------------------------------------------------------------------------------

/// The header `traceparent` of W3C's Trace Context: a new span of the trace that is given, or of a new one. `None` where the system
/// has no random numbers.
pub fn traceparent(given: Option<&str>) -> Option<String> {
    let span = u64::from_be_bytes(random()?);
    // Zero means none. It does not happen.
    let span = span.max(1);
    if let Some((trace, flags)) = given.and_then(trace_of) {
        return Some(format!("00-{trace}-{span:016x}-{flags:02x}"));
    }
    let trace = u128::from_be_bytes(random()?).max(1);
    // Sampled, as nobody has decided otherwise; and its id is random.
    Some(format!("00-{trace:032x}-{span:016x}-03"))
}

fn random<const SIZE: usize>() -> Option<[u8; SIZE]> {
    let mut bytes = [0; SIZE];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// The trace's id and the flags that are known: sampled, random.
fn trace_of(given: &str) -> Option<(&str, u8)> {
    let mut fields = given.splitn(5, '-');
    let version = hex(fields.next()?, 2)?;
    let trace = hex(fields.next()?, 32)?;
    let span = hex(fields.next()?, 16)?;
    let flags = hex(fields.next()?, 2)?;
    // Later versions may have more; ff is none.
    let is_version = match version {
        "ff" => false,
        "00" => fields.next().is_none(),
        _ => true,
    };
    let is_none = |id: &str| id.bytes().all(|digit| digit == b'0');
    if !is_version || is_none(trace) || is_none(span) {
        return None;
    }
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some((trace, flags & 0x03))
}

fn hex(field: &str, length: usize) -> Option<&str> {
    let is_digit = |digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    (field.len() == length && field.bytes().all(is_digit)).then_some(field)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_of_an_object_are_sent() {
        let object =
            json!({"Authorization": "Bearer hunter2", "x-empty": "", "X-Text": "käse; a=\"b\", c"});
        let headers = custom(&object).unwrap();
        assert_eq!(headers.len(), 3);
        assert_eq!(headers.get("authorization").unwrap(), "Bearer hunter2");
        assert_eq!(
            headers.get("x-text").unwrap().as_bytes(),
            "käse; a=\"b\", c".as_bytes()
        );
        assert!(!format!("{headers:?}").contains("hunter2"));
        assert!(custom(&json!({})).unwrap().is_empty());
    }

    #[test]
    fn other_headers_are_refused() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "connection",
            "UPGRADE",
            "te",
            "trailer",
            "keep-alive",
            "expect",
            "Proxy-Authorization",
            "proxy-connection",
            "proxy-",
            "",
            " x",
            "x y",
            "x:y",
            ":path",
            "x\r\ny",
            "x\0",
            "ä",
            "x(y)",
            "x\"",
        ] {
            let told = custom(&json!({ name: "hunter2" })).unwrap_err();
            assert_eq!(told.name, name);
            assert!(!told.to_string().contains("hunter2"));
        }
        for value in [
            json!("hunter2\r\nhost: evil"),
            json!("hunter2\n"),
            json!("hunter2\0"),
            json!("hunter2\u{7f}"),
            json!("hunter2\u{85}"),
            json!("hunter2\t"),
            json!(7),
            json!(null),
            json!(["hunter2"]),
            json!({"a": "hunter2"}),
        ] {
            let told = custom(&json!({ "x": value })).unwrap_err();
            assert!(!format!("{told} {told:?}").contains("hunter2"), "{told}");
        }
        assert!(custom(&json!({"x-a": "1", "X-A": "2"})).is_err());
        assert!(custom(&json!(["x"])).is_err());
        assert!(custom(&json!(null)).is_err());
    }

    #[test]
    fn texts_are_encoded_as_cloudevents_has_it() {
        for (value, encoded) in [
            ("plain", "plain"),
            ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"),
            ("a \"b\" 100%", "a%20%22b%22%20100%25"),
            ("!#$&'()*+,/:;=?@[]~", "!#$&'()*+,/:;=?@[]~"),
            ("a\r\nb\t\u{0}\u{7f}", "a%0D%0Ab%09%00%7F"),
            ("", ""),
        ] {
            assert_eq!(text(value), encoded);
        }
        let mut headers = HeaderMap::new();
        let event = CloudEvent {
            id: "job_7",
            source: "urn:turnstile",
            kind: "mail sent",
            time: "2026-01-01T00:00:00Z",
        };
        event.write(&mut headers);
        assert_eq!(headers.len(), 5);
        assert_eq!(headers.get("ce-specversion").unwrap(), "1.0");
        assert_eq!(headers.get("ce-type").unwrap(), "mail%20sent");
    }

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_trace_goes_on_in_a_new_span() {
        for (given, flags) in [
            (format!("00-{TRACE}-b7ad6b7169203331-01"), "01"),
            (format!("00-{TRACE}-b7ad6b7169203331-00"), "00"),
            (format!("00-{TRACE}-b7ad6b7169203331-ff"), "03"),
            (format!("01-{TRACE}-b7ad6b7169203331-01-more-of-it"), "01"),
        ] {
            let made = traceparent(Some(&given)).unwrap();
            assert_eq!(made.len(), 55);
            assert!(made.starts_with(&format!("00-{TRACE}-")), "{made}");
            assert!(made.ends_with(&format!("-{flags}")), "{made}");
            assert!(!made.contains("b7ad6b7169203331"));
            assert!(trace_of(&made).is_some());
        }
    }

    #[test]
    fn there_is_a_new_trace_where_none_is_valid() {
        let zeros = "0".repeat(32);
        for given in [
            String::new(),
            TRACE.to_owned(),
            format!("00-{TRACE}-b7ad6b7169203331"),
            format!("00-{TRACE}-b7ad6b7169203331-01-x"),
            format!("00-{TRACE}-b7ad6b7169203331-01 "),
            format!(" 00-{TRACE}-b7ad6b7169203331-01"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("0-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{zeros}-b7ad6b7169203331-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{TRACE}-b7ad6b716920333-01"),
            format!("00-{TRACE}-b7ad6b7169203331-1"),
            format!("00-{TRACE}-b7ad6b7169203331-0g"),
            format!("00-{TRACE}-b7ad6b7169203331-+1"),
        ] {
            let made = traceparent(Some(&given)).unwrap();
            assert!(trace_of(&made).is_some(), "{made}");
            assert!(!made.contains(TRACE), "{given}");
        }
        assert_ne!(traceparent(None), traceparent(None));
    }
}
