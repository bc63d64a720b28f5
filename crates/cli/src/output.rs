//! What is printed. Not by `println!`, which panics where nobody reads any more.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::error::Error;

const LONGEST: Timespec = Timespec {
    tv_sec: 3600,
    tv_nsec: 0,
};

pub fn line(text: &dyn Display) -> Result<(), Error> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{text}")?;
    Ok(output.flush()?)
}

pub fn json<T: Serialize>(value: &T) -> Result<(), Error> {
    line(&serde_json::to_string(value)?)
}

/// Nobody prints for so long. It is an error that nobody reads any more.
pub async fn pause(time: Duration) -> Result<(), Error> {
    let watched = tokio::task::spawn_blocking(move || {
        let time = Timespec::try_from(time).unwrap_or(LONGEST);
        let output = std::io::stdout();
        // The end of a reader is told of without being asked for.
        let mut output = [PollFd::new(&output, PollFlags::empty())];
        poll(&mut output, Some(&time))
    });
    match watched.await {
        Ok(Ok(1..)) => Err(Error::Io(ErrorKind::BrokenPipe.into())),
        _ => Ok(()),
    }
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
