//! Open files: each command takes some, so the program has as many as the system allows, and says so where they are too few.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::Error;

/// The two connections, the keeper, signals, standard streams, and a command that is about to start.
const OF_THE_PROGRAM: u64 = 40;
/// Three pipes, and the descriptor of its process.
const OF_A_COMMAND: u64 = 4;

/// Gives what the commands get: the limit as it was, since some programs expect small numbers.
pub fn allow(concurrency: usize) -> Result<Option<u64>, Error> {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    // The old limit may do as well.
    _ = setrlimit(Resource::Nofile, raised);
    let limit = getrlimit(Resource::Nofile).current;
    let needed = needed(concurrency);
    match limit {
        Some(limit) if limit < needed => Err(Error::Usage(format!(
            "--concurrency {concurrency} needs {needed} open files, and the limit is {limit} (ulimit -n)"
        ))),
        _ => Ok(before.current),
    }
}

fn needed(concurrency: usize) -> u64 {
    let commands = u64::try_from(concurrency).unwrap_or(u64::MAX);
    commands
        .saturating_mul(OF_A_COMMAND)
        .saturating_add(OF_THE_PROGRAM)
}
