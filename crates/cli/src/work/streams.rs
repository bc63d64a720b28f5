//! What commands print: the last line of the output, and the end of the errors, which are passed on as they come.

use std::collections::VecDeque;
use std::io;
use std::sync::LazyLock;

use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Stderr};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;

/// So many characters of the errors are kept with the job.
const TAIL: usize = 4000;
const LONGEST_CHARACTER: usize = 4;
const CHUNK: usize = 16 * 1024;
/// No result is longer.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The end of what was written to standard error.
#[derive(Default)]
pub struct Tail(VecDeque<u8>);

impl Tail {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        let excess = self.0.len().saturating_sub(TAIL * LONGEST_CHARACTER);
        self.0.drain(..excess);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        let excess = text.chars().count().saturating_sub(TAIL);
        text.chars().skip(excess).collect()
    }
}

/// The last line that is not blank.
#[derive(Default)]
pub struct LastLine {
    complete: Vec<u8>,
    open: Vec<u8>,
    is_too_long: bool,
}

impl LastLine {
    pub fn add(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.add_piece(piece);
            if piece.ends_with(b"\n") {
                self.close();
            }
        }
    }

    fn add_piece(&mut self, piece: &[u8]) {
        if self.open.len().saturating_add(piece.len()) > LONGEST_LINE {
            self.is_too_long = true;
            self.open.clear();
        } else if !self.is_too_long {
            self.open.extend_from_slice(piece);
        }
    }

    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        if std::mem::take(&mut self.is_too_long) {
            self.complete.clear();
        } else if !open.trim_ascii().is_empty() {
            self.complete = open;
        }
    }

    /// The line, if it is JSON.
    pub fn json(mut self) -> Option<Box<RawValue>> {
        self.close();
        serde_json::from_slice(self.complete.trim_ascii()).ok()
    }
}

/// A command need not read its input.
pub async fn feed(mut input: Sender, text: &str) {
    _ = input.write_all(text.as_bytes()).await;
}

pub async fn collect(mut output: Receiver, last: &mut LastLine) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(read @ 1..) = output.read(&mut chunk).await {
        last.add(chunk.get(..read).unwrap_or_default());
    }
}

/// That of this program, for all commands: where nobody reads it, one thread waits for that and not one for each command.
static OWN: LazyLock<Mutex<Stderr>> = LazyLock::new(|| Mutex::new(tokio::io::stderr()));

/// Each piece also to standard error of this program.
pub async fn pass_on(mut errors: Receiver, mut keep: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(read @ 1..) = errors.read(&mut chunk).await {
        let piece = chunk.get(..read).unwrap_or_default();
        keep(piece);
        _ = passed(piece).await;
    }
}

async fn passed(piece: &[u8]) -> io::Result<()> {
    let mut own = OWN.lock().await;
    own.write_all(piece).await?;
    own.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(output: &[&str]) -> Option<String> {
        let mut last = LastLine::default();
        for piece in output {
            last.add(piece.as_bytes());
        }
        last.json().map(|json| json.get().to_owned())
    }

    #[test]
    fn the_last_line_is_the_result_if_it_is_json() {
        assert_eq!(
            result(&["working\n{\"a\":", " 1}\n\n"]).unwrap(),
            "{\"a\": 1}"
        );
        assert_eq!(result(&["1\n2"]).unwrap(), "2");
        assert_eq!(result(&["{}\nnot json\n"]), None);
        assert_eq!(result(&[]), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_no_result() {
        let long = "1".repeat(LONGEST_LINE + 1);
        assert_eq!(result(&["1\n", &long, "2\n"]), None);
        assert_eq!(result(&[&long, "\n3\n"]).unwrap(), "3");
    }

    #[test]
    fn the_end_of_the_errors_is_kept_in_characters() {
        let mut tail = Tail::default();
        tail.add("ä".repeat(10_000).as_bytes());
        tail.add(b"last\n");
        let text = tail.text();
        assert_eq!(text.chars().count(), TAIL);
        assert!(text.ends_with("ääälast"));
        tail.clear();
        tail.add(b"a\xff");
        assert_eq!(tail.text(), "a\u{FFFD}");
    }
}
