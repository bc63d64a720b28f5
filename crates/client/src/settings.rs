//! What a worker is told.

use crate::error::{Error, Result};
use std::time::Duration;

/// The server can wake a sleeper for so many queues.
const MOST_QUEUES: usize = 32;
const MOST_AT_ONCE: usize = 100_000;

#[derive(Clone)]
pub(crate) struct Settings {
    pub queues: Vec<String>,
    pub concurrency: usize,
    pub name: String,
    pub lease: Option<Duration>,
    pub is_bound: bool,
    pub results_are_optional: bool,
    pub heartbeat: Duration,
    pub wait: Duration,
    pub drain: Duration,
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            queues: vec!["default".into()],
            concurrency: 1,
            name: default_name(),
            lease: None,
            is_bound: false,
            results_are_optional: false,
            heartbeat: Duration::from_secs(15),
            wait: Duration::from_secs(5 * 60),
            drain: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<()> {
        let setup = |is_wrong: bool, what| {
            if is_wrong {
                Err(Error::Setup(what))
            } else {
                Ok(())
            }
        };
        setup(self.queues.is_empty(), "a worker needs at least one queue")?;
        setup(
            self.queues.len() > MOST_QUEUES,
            "a worker can wait for 32 queues at most; * stands for all",
        )?;
        setup(
            !(1..=MOST_AT_ONCE).contains(&self.concurrency),
            "the concurrency must be between 1 and 100000",
        )?;
        setup(
            self.lease.is_some_and(|lease| lease.is_zero()),
            "the lease must be more than 0",
        )?;
        setup(
            self.heartbeat.is_zero(),
            "the time between heartbeats must be more than 0",
        )
    }
}

fn default_name() -> String {
    let system = rustix::system::uname();
    format!(
        "{}:{}",
        system.nodename().to_string_lossy(),
        std::process::id()
    )
}
