//! Random templates and values, the same in each run: whatever a value is, a request goes where its template says.

use std::net::{IpAddr, Ipv4Addr};

use hyper::Uri;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use url::Url;

use super::random::Random;
use crate::http::address::refusal;
use crate::http::resolve::vet_url;
use crate::http::template::Template;

const OF_VALUES: &[&str] = &[
    "/",
    "\\",
    "?",
    "#",
    "&",
    "=",
    ":",
    "@",
    "%",
    ".",
    "..",
    "%2e",
    "%2F",
    "%5c",
    "%25",
    "2e",
    "2f",
    "//",
    "http://",
    "evil.example",
    "[",
    "]",
    ";",
    " ",
    "\r\n",
    "\t",
    "\0",
    "{payload.a}",
    "{",
    "}",
    "a",
    "b",
    "ä",
    "。",
    "．",
    "／",
    "？",
    "＃",
    "\u{ad}",
    "\u{200b}",
    "\u{feff}",
];

const OF_TEMPLATES: &[&str] = &[
    "http://",
    "https://",
    "HTTP://",
    "h.example",
    "bücher.example",
    "127.0.0.1",
    "0x7f.1",
    "[::1]",
    ":80",
    ":8443",
    ":",
    "/",
    "/",
    "/",
    "//",
    "?",
    "&",
    "=",
    "#",
    "@",
    "\\",
    ".",
    "..",
    "%2e",
    "%2f",
    "%",
    "%2",
    "a",
    "b",
    ";",
    "|",
    "^",
    "`",
    "\"",
    "'",
    "<",
    ">",
    "~",
    "+",
    "$",
    "[",
    "]",
    "{payload.a}",
    "{payload.a}",
    "{payload.b}",
    "{payload.a",
    "{",
    "}",
    "ä",
    "。",
    "？",
    "／",
];

/// What a URL says to a reader who knows only its separators.
fn parts(url: &str) -> (&str, &str, Option<&str>) {
    let behind = url.find("://").unwrap() + 3;
    let end = url[behind..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| at + behind);
    let (place, rest) = url.split_at(end);
    match rest.split_once('?') {
        Some((path, query)) => (place, path, Some(query)),
        None => (place, rest, None),
    }
}

fn check(template: &Template, url: &Url, plain: &Url, told: &dyn std::fmt::Debug) {
    let (place, path, query) = parts(url.as_str());
    let (plain_place, plain_path, plain_query) = parts(plain.as_str());
    assert_eq!(place, plain_place, "{told:?}");
    assert_eq!(
        path.matches('/').count(),
        plain_path.matches('/').count(),
        "{told:?}"
    );
    assert_eq!(query.is_some(), plain_query.is_some(), "{told:?}");
    let separators =
        |query: Option<&str>| query.unwrap_or_default().matches(['&', '=', '?']).count();
    assert_eq!(separators(query), separators(plain_query), "{told:?}");
    assert!(
        url.as_str()
            .bytes()
            .all(|byte| (0x21..0x7f).contains(&byte) && byte != b'#'),
        "{told:?}"
    );
    assert_eq!(url.host(), template.base().host(), "{told:?}");
    // The client reads it with another parser.
    let uri: Uri = url
        .as_str()
        .parse()
        .unwrap_or_else(|error| panic!("{told:?}: {error}"));
    assert_eq!(uri.scheme_str(), Some(url.scheme()), "{told:?}");
    assert_eq!(uri.host(), url.host_str(), "{told:?}");
    assert_eq!(uri.port_u16(), url.port(), "{told:?}");
    assert_eq!(uri.path(), url.path(), "{told:?}");
    assert_eq!(uri.query(), url.query(), "{told:?}");
}

fn payload(a: &str, b: &str) -> Box<RawValue> {
    to_raw_value(&json!({ "a": a, "b": b })).unwrap()
}

/// Who decodes a value once has the value.
fn check_values(url: &Url, a: &str, b: &str) {
    let query: Vec<_> = url
        .query_pairs()
        .map(|(_, value)| value.into_owned())
        .collect();
    assert_eq!(query, [a, b]);
    let path: Vec<_> = url
        .path_segments()
        .unwrap()
        .map(|segment| {
            percent_encoding::percent_decode_str(segment)
                .decode_utf8()
                .unwrap()
        })
        .collect();
    assert_eq!(path, ["a", a, "b", b]);
}

#[test]
fn no_value_changes_where_a_request_goes() {
    let templates: Vec<Template> = [
        "https://h.example/a/{payload.a}/b/{payload.b}?c={payload.a}&d={payload.b}#"
            .trim_end_matches('#'),
        "http://127.0.0.1:8080/{payload.a}{payload.b}/c",
        "http://[2606:4700::1]/.{payload.a}/x.{payload.b}",
        "https://bücher.example/a%2F{payload.a}?{payload.b}",
        "http://h.example?{payload.a}={payload.b}",
        "http://h.example/%25{payload.a}",
    ]
    .iter()
    .map(|text| Template::parse(text).unwrap())
    .collect();
    let plain: Vec<Url> = templates
        .iter()
        .map(|template| template.expand(&payload("x", "y")).unwrap())
        .collect();
    let mut random = Random(24);
    let mut made = 0;
    for _ in 0..16_000 {
        let (a, b) = (random.of(OF_VALUES, 5), random.of(OF_VALUES, 5));
        let payload = payload(&a, &b);
        for (template, plain) in templates.iter().zip(&plain) {
            if let Ok(url) = template.expand(&payload) {
                made += 1;
                check(template, &url, plain, &(plain.as_str(), &a, &b));
                if plain.path() == "/a/x/b/y" {
                    check_values(&url, &a, &b);
                }
            }
        }
    }
    assert!(made > 40_000, "{made}");
}

#[test]
fn no_template_goes_where_it_does_not_say() {
    let mut random = Random(42);
    let mut made = 0;
    for _ in 0..120_000 {
        let text = match random.below(4) {
            0 => random.of(OF_TEMPLATES, 10),
            1 => format!("http://{}", random.of(OF_TEMPLATES, 8)),
            _ => format!("http://h.example{}", random.of(OF_TEMPLATES, 8)),
        };
        let Ok(template) = Template::parse(&text) else {
            continue;
        };
        // Some placeholders are of other keys.
        let Ok(plain) = template.expand(&payload("x", "y")) else {
            continue;
        };
        let (a, b) = (random.of(OF_VALUES, 4), random.of(OF_VALUES, 4));
        if let Ok(url) = template.expand(&payload(&a, &b)) {
            made += 1;
            check(&template, &url, &plain, &(&text, &a, &b));
        }
    }
    assert!(made > 10_000, "{made}");
}

/// The last part of an address may stand for several bytes, and each part may be decimal, octal or hexadecimal.
fn spelled(address: u32, random: &mut Random) -> String {
    let parts = 1 + random.below(4);
    let mut left = address;
    let mut text = String::new();
    for index in 0..parts {
        let is_last = index + 1 == parts;
        let number = if is_last {
            left >> (8 * index)
        } else {
            left >> 24
        };
        left <<= 8;
        let zeros = "0".repeat(random.below(3));
        text += &match random.below(4) {
            0 => format!("0{zeros}{number:o}"),
            1 => format!("0x{zeros}{number:x}"),
            2 => format!("0X{zeros}{number:X}"),
            _ => number.to_string(),
        };
        if !is_last {
            text.push('.');
        }
    }
    if random.below(4) == 0 {
        text.push('.');
    }
    text
}

#[test]
fn no_spelling_hides_an_address() {
    let mut random = Random(7);
    for _ in 0..20_000 {
        let bits = u32::try_from(random.next() >> 32).unwrap();
        let address =
            [bits, bits % 256, 0x7f00_0000 | (bits % 1_000), 0xa9fe_a9fe][random.below(4)];
        let text = spelled(address, &mut random);
        let template = Template::parse(&format!("http://{text}/{{payload.a}}")).unwrap();
        let found = template.base().host();
        assert_eq!(
            found,
            Some(url::Host::Ipv4(Ipv4Addr::from_bits(address))),
            "{text}"
        );
        let answer = refusal(IpAddr::from(Ipv4Addr::from_bits(address)), false);
        assert_eq!(
            vet_url(template.base(), false).is_ok(),
            answer.is_none(),
            "{text}"
        );
    }
}

/// What is not ASCII, or encoded, is never taken for an address.
#[test]
fn no_letters_turn_into_an_address() {
    let mut random = Random(8);
    let mut parsed = 0;
    for _ in 0..20_000 {
        let plain = [
            "127.0.0.1",
            "169.254.169.254",
            "localhost",
            "0x7f.1",
            "[::1]",
            "2130706433",
        ][random.below(6)];
        let at = random.below(plain.len());
        let text: String = plain
            .chars()
            .enumerate()
            .map(|(index, letter)| {
                if index == at {
                    other(letter, &mut random)
                } else {
                    letter.to_string()
                }
            })
            .collect();
        if let Ok(template) = Template::parse(&format!("http://{text}/")) {
            parsed += 1;
            let domain = template.base().domain().unwrap_or_else(|| panic!("{text}"));
            assert!(domain.contains("xn--"), "{text} {domain}");
        }
    }
    assert!(parsed < 20_000);
}

/// A character that may be taken for this one.
fn other(letter: char, random: &mut Random) -> String {
    let code = u32::from(letter);
    let of = |code| char::from_u32(code).unwrap().to_string();
    match (letter, random.below(6)) {
        ('0'..='9', 0) => of(0x1d7ce + code - 48),
        ('0'..='9', 1) => of(0x0660 + code - 48),
        ('1'..='9', 2) => of(0x2460 + code - 49),
        ('a'..='z', 0) => of(0x24d0 + code - 97),
        ('a'..='z', 1) => of(0x1d41a + code - 97),
        ('.', 0) => "。".to_owned(),
        ('.', 1) => "․".to_owned(),
        (_, 3) => format!("%{code:02x}"),
        (_, 4) => format!("{letter}\u{ad}"),
        (_, 5) => format!("\u{200b}{letter}"),
        _ => of(0xfee0 + code),
    }
}
