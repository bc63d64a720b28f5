//! Open files: what runs at the same time takes some, so the program has as many as the system allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[cfg(target_os = "linux")]
use crate::error::Error;

/// Room for `concurrency` things that take so many each; an error where there is none. Gives the limit as it was, since some programs
/// expect small numbers.
#[cfg(target_os = "linux")]
pub fn allow(concurrency: usize, of_each: u64, of_the_program: u64) -> Result<Option<u64>, Error> {
    let (before, limit) = raise();
    let needed = u64::try_from(concurrency)
        .unwrap_or(u64::MAX)
        .saturating_mul(of_each)
        .saturating_add(of_the_program);
    match limit {
        Some(limit) if limit < needed => Err(Error::Usage(format!(
            "--concurrency {concurrency} needs {needed} open files, and the limit is {limit} (ulimit -n)"
        ))),
        _ => Ok(before),
    }
}

/// As many of these connections as the system has room for beside what the program takes, but no more than wanted.
pub fn connections(wanted: usize, of_the_program: u64) -> usize {
    let (_, limit) = raise();
    let room = limit.map_or(u64::MAX, |limit| {
        limit.saturating_sub(of_the_program).max(1)
    });
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if room < wanted {
        tracing::warn!(
            wanted,
            room,
            "the limit of open files (ulimit -n) has no room for more connections"
        );
    }
    wanted.min(room)
}

/// The soft limit before, and what it is now: the hard one, if the system lets it be.
fn raise() -> (Option<u64>, Option<u64>) {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    // The old limit may do as well.
    _ = setrlimit(Resource::Nofile, raised);
    (before.current, getrlimit(Resource::Nofile).current)
}
