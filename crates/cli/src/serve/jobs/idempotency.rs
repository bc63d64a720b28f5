//! The header Idempotency-Key: a request that is sent again adds no second job.

use axum::http::HeaderMap;

use crate::listener::Problem;

const NAME: &str = "idempotency-key";
const LONGEST: usize = 128;
/// For how long a key is remembered, whatever becomes of the job.
pub const HELD_FOR: &str = "24 hours";
pub const MODE: &str = "until_expired";

/// The unique key of the job. It has the role in it, so that clients of two roles never get jobs of each other, and a prefix that other
/// unique keys do not have by accident.
pub fn unique_key(headers: &HeaderMap, role: &str) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all(NAME).iter();
    let Some(value) = given.next() else {
        return Ok(None);
    };
    if given.next().is_some() {
        return Err(wrong());
    }
    let key = value.to_str().map_err(|_| wrong())?.trim();
    // The draft of the IETF has it as a string in quotes; most clients send it bare.
    let key = key
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(key);
    if key.is_empty() || key.len() > LONGEST {
        return Err(wrong());
    }
    Ok(Some(format!("idempotency-key:{role}:{key}")))
}

fn wrong() -> Problem {
    Problem::bad_request(format!(
        "Idempotency-Key must be there once, with 1 to {LONGEST} characters of ASCII."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_of(values: &[&str]) -> Result<Option<String>, Problem> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(NAME, value.parse().unwrap());
        }
        unique_key(&headers, "shop")
    }

    #[test]
    fn quotes_are_not_part_of_it() {
        assert_eq!(made_of(&[]).unwrap(), None);
        for value in ["a b", "\"a b\"", " a b "] {
            let key = made_of(&[value]).unwrap().unwrap();
            assert_eq!(key, "idempotency-key:shop:a b", "{value}");
        }
    }

    #[test]
    fn it_is_short_and_there_once() {
        let long = "x".repeat(129);
        for values in [&[""][..], &["\"\""], &[&long], &["é"], &["a", "a"]] {
            assert!(made_of(values).is_err(), "{values:?}");
        }
        // With the longest name of a role it still fits a name of 255 bytes.
        let key = made_of(&["x".repeat(128).as_str()]).unwrap().unwrap();
        assert!(key.len() - "shop".len() + 63 <= 255);
    }
}
