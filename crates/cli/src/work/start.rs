//! The start of a command, which waits where the system is short of files, processes or memory.

use std::io;
use std::process::Command;
use std::time::Duration;

use rustix::io::Errno;
use tokio::time::sleep;
use turnstile_client::{Outcome, Run};

use super::process::{Group, Pipes, Spawner};

/// Before a job is tried again whose command could not be started: it is not the job's fault.
const CANNOT_START: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// An outcome where there is no command. A shortage would be the same for the next job, so this one keeps its place.
pub async fn start(
    spawner: &Spawner,
    run: &Run,
    command: impl Fn() -> Command,
) -> Result<(Group, Pipes), Outcome> {
    let mut pause = FIRST_PAUSE;
    loop {
        match Group::start(spawner, command()).await {
            Ok(started) => return Ok(started),
            Err(error) if is_shortage(&error) => {
                tracing::warn!(%error, ?pause, "the command cannot be started yet");
            }
            Err(error) => return Err(cannot_start(&error)),
        }
        tokio::select! {
            () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            _ = run.stopped() => return Err(Outcome::Release),
        }
    }
}

pub fn cannot_start(error: &io::Error) -> Outcome {
    tracing::error!(%error, "the command cannot be started; the job is put off");
    Outcome::Snooze(CANNOT_START)
}

fn is_shortage(error: &io::Error) -> bool {
    const SHORT: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::AGAIN, Errno::NOMEM];
    let number = error.raw_os_error();
    SHORT
        .iter()
        .any(|short| number == Some(short.raw_os_error()))
}
