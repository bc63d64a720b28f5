//! Whose request it is.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::app::App;
use crate::listener::{self, Problem};

/// The role of the token that a request shows.
pub struct Caller {
    pub role: String,
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // Who reads the other one would take the request for that of another role.
        if parts.headers.get_all(AUTHORIZATION).iter().count() > 1 {
            return Err(Problem::bad_request(
                "The header Authorization must be there once.",
            ));
        }
        let token = parts.headers.get(AUTHORIZATION).and_then(listener::bearer);
        let token = token.ok_or_else(|| {
            Problem::unauthorized("A token is needed: the header Authorization with Bearer.")
        })?;
        let role = app.role_of(token);
        let role = role.ok_or_else(|| Problem::unauthorized("The token is not known here."))?;
        Ok(Self { role })
    }
}
