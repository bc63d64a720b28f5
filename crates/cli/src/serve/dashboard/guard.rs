//! What keeps other sites out: who may send what to this dashboard from a browser, and what its pages may do.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderMap, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;

use super::logins::Mode;
use super::options::Options;
use crate::listener::Problem;

const SEC_FETCH_SITE: &str = "sec-fetch-site";
const SAME_ORIGIN: &[u8] = b"same-origin";

/// What proxies add that lead others here.
const FORWARDED: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Nothing from elsewhere, nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// For each answer. What was read for one viewer is kept for nobody.
pub fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Where nobody logs in, a page of another site could have its name point to this machine and read all (DNS rebinding): the name decides.
pub fn check_host(options: &Options, mode: &Mode, headers: &HeaderMap) -> Result<(), Problem> {
    if !matches!(mode, Mode::Own) {
        return Ok(());
    }
    if FORWARDED.iter().any(|name| headers.contains_key(*name)) {
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "A proxy leads to this dashboard, which asks for no login.",
        )
        .hint(Some(
            "Start turnstile serve with --role-header, or with --basic.",
        )));
    }
    let host = only(headers, &HOST).and_then(|value| value.to_str().ok());
    let name = host.and_then(name_of);
    let is_known = name.as_deref().is_some_and(|name| {
        is_loopback(name)
            || options
                .hosts
                .iter()
                .any(|host| host.eq_ignore_ascii_case(name))
    });
    if is_known {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::MISDIRECTED_REQUEST,
        "This dashboard is not known under this name.",
    )
    .hint(Some(
        "Ask for it as localhost, or start turnstile serve with --host and the name.",
    )))
}

fn name_of(host: &str) -> Option<String> {
    let authority: Authority = host.parse().ok()?;
    (!authority.as_str().contains('@')).then(|| authority.host().to_owned())
}

fn is_loopback(name: &str) -> bool {
    let literal = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(name);
    match literal.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

/// A request that changes something must come from a page of this dashboard. A proxy may change `Host`, but not what the browser says
/// of itself.
pub fn check_write(options: &Options, headers: &HeaderMap) -> Result<(), Problem> {
    if !comes_from_here(headers) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "This request does not come from a page of this dashboard.",
        ));
    }
    if !options.allow_writes {
        return Err(
            Problem::new(StatusCode::FORBIDDEN, "This dashboard is read-only.")
                .hint(Some("Start turnstile serve with --allow-writes.")),
        );
    }
    Ok(())
}

fn comes_from_here(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    if let Some(site) = sites.next() {
        return site.as_bytes() == SAME_ORIGIN && sites.next().is_none();
    }
    // Browsers that know no Sec-Fetch-Site, or see no TLS.
    match (only(headers, &ORIGIN), only(headers, &HOST)) {
        (Some(origin), Some(host)) => is_of_host(origin.as_bytes(), host.as_bytes()),
        _ => false,
    }
}

/// Of a header that is there twice nobody knows which one others go by.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

fn is_of_host(origin: &[u8], host: &[u8]) -> bool {
    [&b"https://"[..], b"http://"]
        .iter()
        .filter_map(|scheme| origin.strip_prefix(*scheme))
        .any(|authority| !host.is_empty() && authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_of(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn writes_come_from_here() {
        for (headers, is_from_here) in [
            (&[("sec-fetch-site", "same-origin")][..], true),
            // Behind a proxy that changes Host.
            (
                &[
                    ("sec-fetch-site", "same-origin"),
                    ("origin", "https://queue.example"),
                    ("host", "10.0.0.1:8080"),
                ],
                true,
            ),
            (&[("origin", "http://a:8080"), ("host", "a:8080")], true),
            (&[("origin", "https://A"), ("host", "a")], true),
            (&[], false),
            (&[("host", "a")], false),
            (&[("origin", "http://b"), ("host", "a")], false),
            (&[("origin", "http://a.b"), ("host", "a")], false),
            (&[("origin", "http://a:81"), ("host", "a:80")], false),
            (&[("origin", "null"), ("host", "a")], false),
            (&[("origin", "http://"), ("host", "")], false),
            (&[("origin", "ftp://a"), ("host", "a")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("sec-fetch-site", "none")], false),
            (
                &[
                    ("sec-fetch-site", "cross-site"),
                    ("origin", "http://a"),
                    ("host", "a"),
                ],
                false,
            ),
        ] {
            assert_eq!(
                comes_from_here(&made_of(headers)),
                is_from_here,
                "{headers:?}"
            );
        }
    }

    #[test]
    fn pages_without_a_login_have_names_of_this_machine() {
        let options = Options {
            base: String::new(),
            allow_writes: false,
            hosts: vec!["Queue.example".to_owned()],
        };
        let is_known =
            |host: &str| check_host(&options, &Mode::Own, &made_of(&[("host", host)])).is_ok();
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "queue.example:1",
        ] {
            assert!(is_known(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "evil@localhost",
            "localhost/..",
            "a b",
        ] {
            assert!(!is_known(host), "{host}");
        }
        for name in FORWARDED {
            let headers = made_of(&[("host", "localhost"), (name, "1")]);
            assert!(
                check_host(&options, &Mode::Own, &headers).is_err(),
                "{name}"
            );
            assert!(check_host(&options, &Mode::Basic, &headers).is_ok());
        }
        let twice = made_of(&[("host", "localhost"), ("host", "evil.example")]);
        assert!(check_host(&options, &Mode::Own, &twice).is_err());
        assert!(check_host(&options, &Mode::Own, &HeaderMap::new()).is_err());
        assert!(check_host(&options, &Mode::Basic, &HeaderMap::new()).is_ok());
    }
}
