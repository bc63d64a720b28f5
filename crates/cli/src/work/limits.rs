//! When a command has to stop before it is done.

use std::fmt;
use std::time::Duration;

use tokio::time::sleep;
use turnstile_client::{Failure, Run, StopReason};

/// What the command line says of every command.
#[derive(Clone, Copy)]
pub struct Limits {
    pub timeout: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// How long after the end the next attempt is due, where the command asks for another without saying when.
    pub retry_in: Duration,
}

#[derive(Debug, Clone, Copy)]
pub enum Stop {
    Asked(StopReason),
    Overtime(Duration),
}

impl Limits {
    /// Waits until the run has to stop, and says so.
    pub async fn reached(&self, run: &Run) -> Stop {
        let stop = tokio::select! {
            reason = run.stopped() => Stop::Asked(reason),
            timeout = over(self.timeout) => Stop::Overtime(timeout),
        };
        tracing::warn!("the command is stopped: {stop}");
        stop
    }
}

/// Never, without a limit.
async fn over(timeout: Option<Duration>) -> Duration {
    match timeout {
        Some(timeout) => {
            sleep(timeout).await;
            timeout
        }
        None => std::future::pending().await,
    }
}

impl Stop {
    /// `error` tells of it.
    pub fn failure(self, error: String) -> Failure {
        match self {
            Stop::Asked(_) => Failure::new(error),
            Stop::Overtime(_) => Failure::new(error).class("timeout"),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Asked(StopReason::Cancelled) => formatter.write_str("the job was cancelled"),
            Stop::Asked(StopReason::Lost) => {
                formatter.write_str("the run was lost, and may go on elsewhere")
            }
            Stop::Asked(StopReason::Shutdown) => formatter.write_str("the program ends"),
            Stop::Overtime(timeout) => {
                write!(formatter, "no end after {} s", timeout.as_secs_f64())
            }
        }
    }
}
