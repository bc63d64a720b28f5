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

/// To standard error. Where even that is closed there is nothing left to say.
pub fn complain(message: &dyn Display) {
    _ = writeln!(std::io::stderr().lock(), "turnstile: {message}");
}
