//! Open files: what runs at the same time takes some, so the program has as many as the system allows, and says so where they are too
//! few.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::Error;

/// Gives the limit as it was, since some programs expect small numbers.
pub fn allow(concurrency: usize, of_each: u64, of_the_program: u64) -> Result<Option<u64>, Error> {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    // The old limit may do as well.
    _ = setrlimit(Resource::Nofile, raised);
    let limit = getrlimit(Resource::Nofile).current;
    let needed = u64::try_from(concurrency)
        .unwrap_or(u64::MAX)
        .saturating_mul(of_each)
        .saturating_add(of_the_program);
    match limit {
        Some(limit) if limit < needed => Err(Error::Usage(format!(
            "--concurrency {concurrency} needs {needed} open files, and the limit is {limit} (ulimit -n)"
        ))),
        _ => Ok(before.current),
    }
}
