//! Bodies of requests: JSON, up to a limit, and in good time.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use axum::http::{Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;

use super::Problem;

/// For all of it, since a client that is heard of now and then could keep its place forever.
const LONGEST: Duration = Duration::from_secs(30);

/// Whether a body must say what it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Json,
    /// It is taken as JSON whatever it says, as endpoints of others answer with what they have.
    Any,
}

/// The text of a body. An empty one need not say what it is.
pub async fn read(
    request: Request<Body>,
    limit: usize,
    content: Content,
) -> Result<String, Problem> {
    check_encoding(request.headers())?;
    let is_json = content == Content::Any || says_json(request.headers());
    let body = request.into_body();
    if !is_json && !body.is_end_stream() {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The body must be JSON, and the header Content-Type say so.",
        ));
    }
    if body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
        return Err(too_large(limit));
    }
    let bytes = match tokio::time::timeout(LONGEST, Limited::new(body, limit).collect()).await {
        Ok(Ok(read)) => read.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(too_large(limit)),
        Ok(Err(_)) => return Err(Problem::bad_request("The body ends before its end.")),
        Err(_) => {
            return Err(Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("The body took more than {} seconds.", LONGEST.as_secs()),
            ));
        }
    };
    String::from_utf8(bytes.into()).map_err(|_| Problem::bad_request("The body is not in UTF-8."))
}

/// What is compressed would be read as JSON that is broken.
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let is_plain = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity"));
    match is_plain {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The body must come as it is: no Content-Encoding but identity is taken.",
        )),
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("The body has more than {limit} bytes."),
    )
}

/// `application/json`, with parameters or without, or `application/…+json`.
fn says_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let media = value.split(';').next().unwrap_or_default();
    let media = media.trim().to_ascii_lowercase();
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn json_has_names() {
        let says = |value: &'static str| {
            says_json(&HeaderMap::from_iter([(
                CONTENT_TYPE,
                HeaderValue::from_static(value),
            )]))
        };
        for value in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/cloudevents+json",
        ] {
            assert!(says(value), "{value}");
        }
        for value in ["", "text/json", "application/x-www-form-urlencoded", "json"] {
            assert!(!says(value), "{value}");
        }
        assert!(!says_json(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn bodies_have_limits() {
        let request = |text: &'static str| Request::new(Body::from(text));
        let status = |problem: Problem| {
            use axum::response::IntoResponse;
            problem.into_response().status()
        };
        let read_any = |text| read(request(text), 4, Content::Any);
        assert_eq!(read_any("1234").await.unwrap(), "1234");
        let refused = read_any("12345").await.unwrap_err();
        assert_eq!(status(refused), StatusCode::PAYLOAD_TOO_LARGE);
        let refused = read(request("1"), 4, Content::Json).await.unwrap_err();
        assert_eq!(status(refused), StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(read(request(""), 4, Content::Json).await.unwrap(), "");
        for (encoding, is_taken) in [("gzip", false), ("gzip, br", false), ("Identity", true)] {
            let mut encoded = request("1");
            let value = HeaderValue::from_static(encoding);
            encoded.headers_mut().insert(CONTENT_ENCODING, value);
            let read = read(encoded, 4, Content::Any).await;
            let expected = match is_taken {
                true => Ok("1".to_owned()),
                false => Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
            };
            assert_eq!(read.map_err(status), expected, "{encoding}");
        }
        let latin = Request::new(Body::from(vec![0xe9]));
        let refused = read(latin, 4, Content::Any).await.unwrap_err();
        assert_eq!(status(refused), StatusCode::BAD_REQUEST);
    }
}
