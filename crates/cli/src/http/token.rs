//! Tokens of callbacks: who shows one was given it with the run, and may end that run and no other.
//!
//! A token is an HMAC of the run's id and attempt, so nothing has to be kept. It needs no date either: the server takes nothing of a run
//! that was superseded or has ended.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac::{self, HMAC_SHA256, Key};

use super::private;
use crate::error::Error;

/// So that the key makes nothing else that looks the same.
const DOMAIN: &[u8] = b"turnstile callback 1\0";
const SHORTEST_KEY: usize = 32;

pub struct Tokens {
    first: Key,
    /// Keys of before, which sign no more.
    others: Vec<Key>,
}

impl Tokens {
    pub fn new(key: &[u8]) -> Self {
        Self {
            first: Key::new(HMAC_SHA256, key),
            others: Vec::new(),
        }
    }

    /// A key a line: the first signs, and all are good for tokens that are out.
    pub fn from_file(file: &Path) -> Result<Self, Error> {
        let unusable =
            |why: &str| Error::Usage(format!("--callback-key {}: {why}", file.display()));
        let metadata = std::fs::metadata(file).map_err(|error| unusable(&error.to_string()))?;
        private::check(&metadata).map_err(unusable)?;
        let text = std::fs::read(file).map_err(|error| unusable(&error.to_string()))?;
        Self::from_lines(&text).map_err(|why| unusable(&why))
    }

    fn from_lines(text: &[u8]) -> Result<Self, String> {
        let mut keys = text
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|key| !key.is_empty());
        let first = keys.next().ok_or("there is no key in it")?;
        let mut tokens = Self::new(long_enough(first)?);
        for key in keys {
            tokens.others.push(Key::new(HMAC_SHA256, long_enough(key)?));
        }
        Ok(tokens)
    }

    #[allow(dead_code, reason = "turnstile dispatch gives them to endpoints")]
    pub fn token(&self, id: i64, attempt: i32) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.first, &signed(id, attempt)))
    }

    /// Takes as long whatever is wrong with it.
    pub fn is_valid(&self, token: &str, id: i64, attempt: i32) -> bool {
        let Ok(given) = URL_SAFE_NO_PAD.decode(token) else {
            return false;
        };
        let signed = signed(id, attempt);
        std::iter::once(&self.first)
            .chain(&self.others)
            .any(|key| hmac::verify(key, &signed, &given).is_ok())
    }
}

fn long_enough(key: &[u8]) -> Result<&[u8], String> {
    if key.len() < SHORTEST_KEY {
        return Err(format!("a key has at least {SHORTEST_KEY} bytes"));
    }
    Ok(key)
}

/// Of fixed length, so that no two runs have the same text.
fn signed(id: i64, attempt: i32) -> Vec<u8> {
    [DOMAIN, &id.to_be_bytes(), &attempt.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "another key that is long enough for it";

    #[test]
    fn a_token_is_good_for_its_run_alone() {
        let tokens = Tokens::new(KEY.as_bytes());
        let token = tokens.token(7, 2);
        assert_eq!(token.len(), 43);
        assert!(tokens.is_valid(&token, 7, 2));
        for (id, attempt) in [(7, 1), (8, 2), (2, 7), (-7, 2), (7, -2), (0, 0)] {
            assert!(!tokens.is_valid(&token, id, attempt), "{id} {attempt}");
        }
        assert!(!Tokens::new(OTHER.as_bytes()).is_valid(&token, 7, 2));
    }

    #[test]
    fn what_is_no_token_is_none() {
        let tokens = Tokens::new(KEY.as_bytes());
        let token = tokens.token(7, 2);
        let shorter = token.get(..42).unwrap();
        for wrong in [
            "",
            "é",
            "====",
            shorter,
            &format!("{token}A"),
            &format!("{token}="),
        ] {
            assert!(!tokens.is_valid(wrong, 7, 2), "{wrong}");
        }
    }

    #[test]
    fn the_first_key_signs_and_all_verify() {
        let before = Tokens::from_lines(format!("{OTHER}\n").as_bytes()).unwrap();
        let now = Tokens::from_lines(format!("  {KEY}\r\n\n{OTHER}").as_bytes()).unwrap();
        assert!(now.is_valid(&before.token(1, 1), 1, 1));
        assert!(!before.is_valid(&now.token(1, 1), 1, 1));
        assert_eq!(now.token(1, 1), Tokens::new(KEY.as_bytes()).token(1, 1));
    }

    #[test]
    fn short_keys_are_refused() {
        let long = KEY;
        for text in ["", "\n \n", "short", &format!("{long}\nshort")] {
            assert!(Tokens::from_lines(text.as_bytes()).is_err(), "{text}");
        }
    }
}
