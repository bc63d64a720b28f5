//! Tokens of the header Authorization.

use axum::http::HeaderValue;

const SCHEME: &str = "bearer ";

/// The token, where it is one of that kind (RFC 6750).
pub fn bearer(value: &HeaderValue) -> Option<&str> {
    let value = value.to_str().ok()?;
    let scheme = value.get(..SCHEME.len())?;
    let token = value.get(SCHEME.len()..)?.trim();
    (scheme.eq_ignore_ascii_case(SCHEME) && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_after_its_scheme() {
        let found = |value: &str| bearer(&value.parse().unwrap()).map(str::to_owned);
        for value in ["Bearer abc", "bearer  abc ", "BEARER abc"] {
            assert_eq!(found(value).unwrap(), "abc", "{value}");
        }
        for value in ["Basic abc", "Bearer", "Bearer ", "", "abc", "Bearerabc"] {
            assert_eq!(found(value), None, "{value}");
        }
    }
}
