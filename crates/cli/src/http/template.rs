//! URLs with placeholders: `https://example.com/users/{payload.user.id}?page={payload.page}`.
//!
//! A value stands for itself and nothing else: it is a part of one segment of the path or of the query, whatever is in it. Where a request goes
//! is up to the template alone; `expand` checks that once more on what it has made.

mod errors;
mod host;
mod value;

use hyper::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::value::RawValue;
use url::{Position, Url};

pub use errors::{Invalid, Unfit};

/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Many servers refuse longer ones.
const LONGEST: usize = 8_000;
/// How often a segment is decoded to see whether it climbs.
const MOST_ENCODED: usize = 8;

// ---- The template ---------------------------------------------------------------------------------

#[derive(Clone, Debug)]
pub struct Template {
    /// Scheme, host and port, and the path `/`.
    base: Url,
    /// What stands behind each slash of the path.
    path: Vec<Vec<Piece>>,
    query: Option<Vec<Piece>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A placeholder, without its braces.
    Value(String),
}

impl Template {
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text.len() > LONGEST {
            return Err(Invalid::because("it is too long"));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Invalid::because("it has whitespace or control characters"));
        }
        if text.contains(['\\', '#']) {
            return Err(Invalid::because("it has a backslash or a fragment"));
        }
        let (base, rest) = host::split(text)?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let template = Self {
            base,
            path: path
                .split('/')
                .skip(1)
                .map(pieces)
                .collect::<Result<_, _>>()?,
            query: query.map(pieces).transpose()?,
        };
        // What the texts alone are is known without a payload.
        let probe = template.fill(|_| Ok("x".to_owned()));
        probe.map_err(|unfit| Invalid::because(format!("it {}", unfit.reason)))?;
        Ok(template)
    }

    /// Scheme, host and port, with the path `/`: the same for all payloads.
    pub fn base(&self) -> &Url {
        &self.base
    }

    pub fn expand(&self, payload: &RawValue) -> Result<Url, Unfit> {
        self.fill(|name| value::find(payload, name))
    }

    fn fill(&self, value: impl Fn(&str) -> Result<String, &'static str>) -> Result<Url, Unfit> {
        let mut text = self.base[..Position::BeforePath].to_owned();
        for segment in &self.path {
            text.push('/');
            let start = text.len();
            let last = append(&mut text, segment, &value)?;
            check_segment(text.get(start..).unwrap_or_default(), last)?;
        }
        if let Some(query) = &self.query {
            text.push('?');
            append(&mut text, query, &value)?;
        }
        check_length(&text)?;
        match Url::parse(&text) {
            Ok(url) if self.leads_to(&url) => Ok(url),
            _ => Err(Unfit::of(None, "would lead elsewhere than its template")),
        }
    }

    /// The client reads the URL with a parser of its own, which must see the same in it.
    fn leads_to(&self, url: &Url) -> bool {
        let is_read_alike = url.as_str().parse().is_ok_and(|uri: Uri| {
            uri.host() == url.host_str()
                && uri.port_u16() == url.port()
                && uri.path() == url.path()
                && uri.query() == url.query()
        });
        let segments = url.path_segments().map_or(0, Iterator::count);
        is_read_alike
            && url.scheme() == self.base.scheme()
            && url.host() == self.base.host()
            && url.port_or_known_default() == self.base.port_or_known_default()
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none()
            && url.query().is_some() == self.query.is_some()
            && segments == self.path.len().max(1)
    }
}

/// Gives the last placeholder, to name where something is wrong.
fn append<'a>(
    text: &mut String,
    pieces: &'a [Piece],
    value: impl Fn(&str) -> Result<String, &'static str>,
) -> Result<Option<&'a str>, Unfit> {
    let mut last = None;
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Value(name) => {
                let found = value(name).map_err(|reason| Unfit::of(Some(name), reason))?;
                text.extend(utf8_percent_encode(&found, ENCODED));
                check_length(text)?;
                last = Some(name.as_str());
            }
        }
    }
    Ok(last)
}

fn check_length(text: &str) -> Result<(), Unfit> {
    if text.len() > LONGEST {
        return Err(Unfit::of(None, "is too long"));
    }
    Ok(())
}

/// Dots are unreserved, and a URL with %2e%2e climbs, too. Servers that decode more than once see what is left in the end.
fn check_segment(segment: &str, last: Option<&str>) -> Result<(), Unfit> {
    if segment.is_empty() && last.is_some() {
        return Err(Unfit::of(
            last,
            "is empty, where a segment of the path is needed",
        ));
    }
    let Some(decoded) = decoded(segment) else {
        return Err(Unfit::of(last, "is percent-encoded too often"));
    };
    if decoded
        .split(['/', '\\'])
        .any(|part| matches!(part, "." | ".."))
    {
        return Err(Unfit::of(last, "has . or .. in the path"));
    }
    Ok(())
}

fn decoded(segment: &str) -> Option<String> {
    let mut text = segment.to_owned();
    for _ in 0..MOST_ENCODED {
        let next = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if next == text {
            return Some(text);
        }
        text = next;
    }
    None
}

// ---- Texts and placeholders -----------------------------------------------------------------------

fn pieces(text: &str) -> Result<Vec<Piece>, Invalid> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let Some((name, after)) = behind.split_once('}') else {
            return Err(Invalid::because("a brace is not closed"));
        };
        if !before.is_empty() {
            pieces.push(literal(before)?);
        }
        pieces.push(placeholder(name)?);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(literal(rest)?);
    }
    Ok(pieces)
}

/// `%` stands before two digits: a value behind it cannot complete it.
fn literal(text: &str) -> Result<Piece, Invalid> {
    if text.contains('}') {
        return Err(Invalid::because("a brace is not opened"));
    }
    let is_encoded = |part: &str| {
        let mut digits = part.bytes().take(2);
        matches!((digits.next(), digits.next()), (Some(a), Some(b)) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    };
    if !text.split('%').skip(1).all(is_encoded) {
        return Err(Invalid::because("% stands without two hexadecimal digits"));
    }
    Ok(Piece::Text(text.to_owned()))
}

fn placeholder(name: &str) -> Result<Piece, Invalid> {
    let is_key = |key: &str| {
        !key.is_empty()
            && key
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
    };
    match name.strip_prefix("payload.") {
        Some(keys) if keys.split('.').all(is_key) => Ok(Piece::Value(name.to_owned())),
        _ => Err(Invalid::because(format!(
            "{{{name}}} is no placeholder, as {{payload.user.id}} is"
        ))),
    }
}
