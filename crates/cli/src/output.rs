//! What is printed. Not by `println!`, which panics where nobody reads any more.

use std::fmt::Display;
use std::io::Write;

use serde::Serialize;

use crate::error::Error;

pub fn line(text: &dyn Display) -> Result<(), Error> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{text}")?;
    Ok(output.flush()?)
}

pub fn json<T: Serialize>(value: &T) -> Result<(), Error> {
    line(&serde_json::to_string(value)?)
}

/// Text of others on one line, which cannot tell the terminal what to do.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|each| if each.is_control() { ' ' } else { each })
        .collect()
}

/// To standard error. Where even that is closed there is nothing left to say.
pub fn complain(message: &dyn Display) {
    _ = writeln!(std::io::stderr().lock(), "turnstile: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_moves_no_cursor() {
        assert_eq!(plain("a\u{1b}[2J\nb\u{9b}c\té"), "a [2J b c é");
    }
}
