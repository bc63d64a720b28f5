//! JSON from the command line, a file or standard input.

use std::io::Read;

use serde::de::IgnoredAny;

use crate::error::Error;

/// `-` stands for standard input, and `@file` for a file. The text is passed on as it is, if it is JSON.
pub fn read(what: &str, given: &str) -> Result<String, Error> {
    let unreadable = |place: &str, error: std::io::Error| {
        Error::Usage(format!("{what}: {place} cannot be read: {error}"))
    };
    let text = if given == "-" {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| unreadable("standard input", error))?;
        text
    } else if let Some(path) = given.strip_prefix('@') {
        std::fs::read_to_string(path).map_err(|error| unreadable(path, error))?
    } else {
        given.to_owned()
    };
    match serde_json::from_str::<IgnoredAny>(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Error::Usage(format!("{what} is not JSON: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_passed_on_as_it_is() {
        for text in [
            "{}",
            " [1, 1.000000000000000000001]\n",
            "\"a\"",
            "null",
            "7",
        ] {
            assert_eq!(read("payload", text).unwrap(), text);
        }
        for text in ["", "{", "order 7", "{} {}", "@/nowhere/at all"] {
            assert!(
                matches!(read("payload", text), Err(Error::Usage(_))),
                "{text}"
            );
        }
    }
}
