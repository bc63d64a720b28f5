//! What commands that go on for long write to standard error.

use std::io::IsTerminal;

use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

/// Where nobody reads standard error, lines are lost in the end. Else they would keep the heartbeats waiting. What is returned writes the
/// last lines when it is dropped.
pub fn to_stderr() -> WorkerGuard {
    let filter =
        EnvFilter::try_from_env("TURNSTILE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let (stderr, last_lines) = tracing_appender::non_blocking(std::io::stderr());
    // It fails only where there is a log already.
    _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .log_internal_errors(false)
        .try_init();
    last_lines
}
