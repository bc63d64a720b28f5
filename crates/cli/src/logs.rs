//! What commands that go on for long write to standard error.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::WorkerGuard;

use crate::error::Error;

const VARIABLE: &str = "TURNSTILE_LOG";

/// Where nobody reads standard error, lines are lost in the end. Else they would keep the heartbeats waiting. What is returned writes the
/// last lines when it is dropped.
pub fn to_stderr() -> Result<WorkerGuard, Error> {
    let level = level(std::env::var_os(VARIABLE).as_deref())?;
    let (stderr, last_lines) = tracing_appender::non_blocking(std::io::stderr());
    // It fails only where there is a log already.
    _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .log_internal_errors(false)
        .try_init();
    Ok(last_lines)
}

fn level(word: Option<&std::ffi::OsStr>) -> Result<LevelFilter, Error> {
    let word = word.unwrap_or_default().to_string_lossy();
    Ok(match word.trim().to_ascii_lowercase().as_str() {
        "" | "info" => LevelFilter::INFO,
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warn" | "warning" => LevelFilter::WARN,
        "debug" => LevelFilter::DEBUG,
        _ => {
            return Err(Error::Usage(format!(
                "{VARIABLE} is {word:?}, and has to be off, error, warn, info or debug"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_help_however_they_are_spelled() {
        let of = |word: &str| level(Some(word.as_ref())).ok();
        assert_eq!(level(None).ok(), Some(LevelFilter::INFO));
        for (word, expected) in [
            ("", LevelFilter::INFO),
            ("off", LevelFilter::OFF),
            ("error", LevelFilter::ERROR),
            ("WARN", LevelFilter::WARN),
            ("Warning", LevelFilter::WARN),
            (" info ", LevelFilter::INFO),
            ("debug", LevelFilter::DEBUG),
        ] {
            assert_eq!(of(word), Some(expected), "{word}");
        }
        for word in ["bogus", "1", "info,debug", "turnstile=debug"] {
            let told = level(Some(word.as_ref())).unwrap_err().to_string();
            assert!(told.contains("off, error, warn, info or debug"), "{told}");
        }
    }
}
