//! Templates: which are any, and what becomes of values.

use serde_json::value::RawValue;

use crate::http::resolve::vet_url;
use crate::http::template::{Template, Unfit};

fn expand(template: &str, payload: &str) -> Result<String, Unfit> {
    let payload: &RawValue = serde_json::from_str(payload).unwrap();
    let template = Template::parse(template).unwrap();
    template.expand(payload).map(String::from)
}

#[test]
fn values_stand_where_their_placeholders_are() {
    let payload =
        r#"{"a": {"b": ["x", {"c": 7}]}, "t": true, "n": 12345678901234567890.50, "s": "käse"}"#;
    for (template, url) in [
        ("https://h.example", "https://h.example/"),
        ("https://h.example?x", "https://h.example/?x"),
        ("HTTP://H.example:80/a//b/", "http://h.example/a//b/"),
        (
            "https://h.example/{payload.a.b.0}/x",
            "https://h.example/x/x",
        ),
        (
            "https://h.example/x-{payload.a.b.1.c}{payload.t}",
            "https://h.example/x-7true",
        ),
        (
            "https://h.example/?n={payload.n}&s={payload.s}",
            "https://h.example/?n=12345678901234567890.50&s=k%C3%A4se",
        ),
        (
            "https://h.example:8443?n={payload.t}",
            "https://h.example:8443/?n=true",
        ),
        (
            "http://bücher.example/ö/{payload.s}",
            "http://xn--bcher-kva.example/%C3%B6/k%C3%A4se",
        ),
        ("http://localhost.:81/", "http://localhost.:81/"),
        ("http://[::1]:81/a%2Fb", "http://[::1]:81/a%2Fb"),
    ] {
        assert_eq!(expand(template, payload).unwrap(), url, "{template}");
    }
}

#[test]
fn a_value_is_never_more_than_a_value() {
    for (value, encoded) in [
        ("a/b", "a%2Fb"),
        ("?a=b&c#d", "%3Fa%3Db%26c%23d"),
        ("@evil.example", "%40evil.example"),
        ("//evil.example", "%2F%2Fevil.example"),
        (":80", "%3A80"),
        ("\\evil", "%5Cevil"),
        ("%", "%25"),
        ("\r\nHost: evil", "%0D%0AHost%3A%20evil"),
        ("{payload.b}", "%7Bpayload.b%7D"),
        ("...", "..."),
        ("a..b", "a..b"),
        (" ", "%20"),
        ("\u{0}", "%00"),
        (
            "１２７．０",
            "%EF%BC%91%EF%BC%92%EF%BC%97%EF%BC%8E%EF%BC%90",
        ),
    ] {
        let payload = serde_json::json!({ "v": value }).to_string();
        let url = expand("https://h.example/a/{payload.v}/b?q={payload.v}", &payload).unwrap();
        assert_eq!(url, format!("https://h.example/a/{encoded}/b?q={encoded}"));
    }
}

#[test]
fn a_value_does_not_climb() {
    for value in [
        "",
        ".",
        "..",
        "%2e",
        "%2e%2E",
        ".%2e",
        "%252e%252e",
        "../x",
        "x/..",
        "..\\x",
        "x/%2e%2e/y",
        "./..",
        "%2f..",
        "%25252e%25252e",
    ] {
        let payload = serde_json::json!({ "v": value }).to_string();
        let told = expand("https://h.example/a/{payload.v}/b", &payload).unwrap_err();
        assert_eq!(told.placeholder.as_deref(), Some("payload.v"), "{value}");
        assert!(
            expand("https://h.example/a?v={payload.v}", &payload).is_ok(),
            "{value}"
        );
    }
    for template in [
        "{payload.v}{payload.v}",
        ".{payload.v}",
        "{payload.v}.",
        "%2e{payload.v}",
        "x%2F.{payload.v}",
    ] {
        let template = format!("https://h.example/a/{template}/b");
        assert!(expand(&template, r#"{"v": "."}"#).is_err(), "{template}");
        assert!(expand(&template, r#"{"v": "y"}"#).is_ok(), "{template}");
    }
}

#[test]
fn what_has_no_value_is_named() {
    let payload = r#"{"null": null, "object": {}, "array": ["secret"], "text": "secret"}"#;
    for (name, reason) in [
        ("payload.none", "is not in the payload"),
        ("payload.null", "is null"),
        ("payload.null.x", "is not in the payload"),
        ("payload.object", "is an object"),
        ("payload.array", "is an array"),
        ("payload.array.1", "is not in the payload"),
        ("payload.array.00", "is not in the payload"),
        ("payload.array.length", "is not in the payload"),
        ("payload.text.0", "is not in the payload"),
    ] {
        let told = expand(&format!("https://h.example/?x={{{name}}}"), payload).unwrap_err();
        assert_eq!(told.to_string(), format!("{{{name}}} {reason}"));
    }
    for payload in ["7", "null", "[]", r#""x""#] {
        assert!(expand("https://h.example/{payload.x}", payload).is_err());
    }
    let long = serde_json::json!({ "v": "x".repeat(8_000) }).to_string();
    let told = expand("https://h.example/{payload.v}", &long).unwrap_err();
    assert_eq!(told.to_string(), "the URL is too long");
}

/// What has been encoded many times over costs no more than its length.
#[test]
fn a_value_is_decoded_a_few_times_only() {
    for (times, reason) in [
        (1_000, "is percent-encoded too often"),
        (1_000_000, "the URL is too long"),
    ] {
        let payload = serde_json::json!({ "v": format!("%{}2e", "25".repeat(times)) }).to_string();
        let told = expand("https://h.example/{payload.v}", &payload).unwrap_err();
        assert!(told.to_string().ends_with(reason), "{told}");
    }
    let payload = r#"{"v": "100%2525"}"#;
    assert!(expand("https://h.example/{payload.v}", payload).is_ok());
}

#[test]
fn other_texts_are_no_templates() {
    for text in [
        "",
        "h.example",
        "//h.example/",
        "ftp://h.example/",
        "file:///etc/passwd",
        "gopher://h.example/",
        "javascript:alert(1)",
        "view-source:http://h.example/",
        "http:/h.example",
        "http:h.example",
        "http:///h.example",
        "http://",
        "http:///",
        "http://?x",
        "http://user@h.example/",
        "http://user:word@h.example/",
        "http://@h.example/",
        "http://h.example#x",
        "http://h.example/a#{payload.x}",
        "http://h.example\\@evil.example/",
        "http:\\\\h.example/",
        "http://h.example/a\\b",
        " http://h.example/",
        "http://h.example/ ",
        "http://h.exa\tmple/",
        "http://h.example/a\nb",
        "http://h.example/a\u{a0}b",
        "http://h.example/a\u{0}b",
        "http://h.example/a\u{7f}b",
        "http://{payload.host}/",
        "http://h.example:{payload.port}/",
        "http://h{payload.x}",
        "http://h.example{payload.x}/a",
        "{payload.url}",
        "http{payload.s}://h.example/",
        "http://h.example/{payload.x",
        "http://h.example/{payload.x/}",
        "http://h.example/payload.x}",
        "http://h.example/{{payload.x}}",
        "http://h.example/{payload.{payload.x}}",
        "http://h.example/{}",
        "http://h.example/{payload}",
        "http://h.example/{payload.}",
        "http://h.example/{payload..x}",
        "http://h.example/{payload.x.}",
        "http://h.example/{payload.a b}",
        "http://h.example/{payload.a?b}",
        "http://h.example/{id}",
        "http://h.example/%2{payload.x}",
        "http://h.example/%{payload.x}",
        "http://h.example/%zz",
        "http://h.example/?%2{payload.x}",
        "http://h.example/a/../b",
        "http://h.example/./b",
        "http://h.example/..",
        "http://h.example/%2e%2E/b",
        "http://h.example/.%2e",
        "http://h.example/{payload.x}/../b",
        "http://h.example:99999/",
        "http://h.example:x/",
        "http://h.exa%6dple/",
        "http://h%2eexample/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1/",
        "http://[::1]x/",
        "http://h.ex<ample/",
        "http://h.ex|ample/",
        "http://１２７.0.0.1/",
        "http://⑫7.0.0.1/",
        "http://ｅxample.com/",
        "http://exam\u{ad}ple.com/",
        "http://example。com/",
        "http://exam\u{200b}ple.com/",
        "http://999.999.999.999/",
        "http://1.2.3.4.5/",
        "http://0x100000000/",
    ] {
        assert!(Template::parse(text).is_err(), "{text}");
    }
    assert!(Template::parse(&format!("http://h.example/{}", "x".repeat(8_000))).is_err());
}

#[test]
fn odd_spellings_of_an_address_are_that_address() {
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "0x7f.1",
        "0x7F000001",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "0x7f.0.0.0x1",
        "[::1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "10.1",
        "0xa9fea9fe",
        "[64:ff9b::a9fe:a9fe]",
        "0",
        "0.0.0.0",
    ] {
        let template = Template::parse(&format!("http://{host}:8080/x")).unwrap();
        assert!(vet_url(template.base(), false).is_err(), "{host}");
    }
}
