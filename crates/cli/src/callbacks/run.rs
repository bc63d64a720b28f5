//! The run that a call is about, and the proof that the caller was given it.

use axum::extract::{FromRequestParts, Path};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, request::Parts};

use super::app::App;
use crate::listener::{self, Problem};

const TOKEN: &str = "turnstile-callback-token";

/// (id, attempt) of a call whose token is good.
pub struct Run {
    pub id: i64,
    pub attempt: i32,
}

impl FromRequestParts<App> for Run {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // The same answer whatever is wrong, so that nobody learns which runs there are.
        let refused = || Problem::unauthorized("The token of this run is needed.");
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((id, attempt)) = path.map_err(|_| refused())?;
        let (Ok(id), Ok(attempt)) = (id.parse(), attempt.parse()) else {
            return Err(refused());
        };
        let token = token(&parts.headers).ok_or_else(refused)?;
        if !app.tokens.is_valid(token, id, attempt) {
            return Err(refused());
        }
        Ok(Self { id, attempt })
    }
}

/// Of its own header, or that which all clients of HTTP know.
fn token(headers: &HeaderMap) -> Option<&str> {
    if let Some(token) = headers.get(TOKEN) {
        return token.to_str().ok().map(str::trim);
    }
    headers.get(AUTHORIZATION).and_then(listener::bearer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_has_two_places() {
        let found = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            token(&headers).map(str::to_owned)
        };
        assert_eq!(found("authorization", "Bearer abc").unwrap(), "abc");
        assert_eq!(found("authorization", "bearer  abc ").unwrap(), "abc");
        assert_eq!(found("turnstile-callback-token", "abc").unwrap(), "abc");
        for value in ["Basic abc", "Bearer", "", "abc"] {
            assert_eq!(found("authorization", value), None, "{value}");
        }
    }
}
