//! A command for each job.

use std::time::Duration;

use tokio::time::timeout;
use turnstile_client::{Failure, Handler, Outcome, Run};

use super::limits::{Limits, Stop};
use super::process::{Ended, Group, Pipes, Spawner};
use super::program::Program;
use super::start::{cannot_start, start};
use super::streams::{LastLine, Tail, collect, feed, pass_on};
use super::variables;

/// What these exit codes are to programs of Unix: EX_TEMPFAIL and EX_DATAERR of sysexits.h.
const TRY_AGAIN: i32 = 75;
const NEVER_MIND: i32 = 65;

/// What has left the group of a command may hold its pipes for ever.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub struct Commands {
    pub program: Program,
    pub limits: Limits,
    pub spawner: Spawner,
}

impl Handler for Commands {
    async fn handle(&self, run: Run) -> Outcome {
        let command = || {
            let mut command = self.program.command();
            variables::set(&mut command, &run.job);
            command
        };
        match start(&self.spawner, &run, command).await {
            Ok((group, pipes)) => self
                .work(&run, group, pipes)
                .await
                .unwrap_or_else(|error| cannot_start(&error)),
            Err(outcome) => outcome,
        }
    }
}

impl Commands {
    async fn work(&self, run: &Run, mut group: Group, pipes: Pipes) -> std::io::Result<Outcome> {
        let (mut last, mut tail) = (LastLine::default(), Tail::default());
        let (ended, stop) = {
            let payload = run.job.payload.get();
            let mut streams = std::pin::pin!(pump(pipes, payload, &mut last, &mut tail));
            let mut is_silent = false;
            let end = until_end(&mut group, run, &self.limits);
            let mut end = std::pin::pin!(end);
            let ended = loop {
                tokio::select! {
                    ended = &mut end => break ended?,
                    () = &mut streams, if !is_silent => is_silent = true,
                }
            };
            if !is_silent {
                _ = timeout(LAST_WORDS, streams).await;
            }
            ended
        };
        Ok(match stop {
            Some(stop) => Outcome::Fail(stop.failure(with_words(&stop.to_string(), &tail))),
            None => outcome(ended, last, &tail, self.limits.retry_in),
        })
    }
}

async fn pump(pipes: Pipes, payload: &str, last: &mut LastLine, tail: &mut Tail) {
    tokio::join!(
        feed(pipes.input, payload),
        collect(pipes.output, last),
        pass_on(pipes.errors, |piece| tail.add(piece)),
    );
}

async fn until_end(
    group: &mut Group,
    run: &Run,
    limits: &Limits,
) -> std::io::Result<(Ended, Option<Stop>)> {
    let stop = tokio::select! {
        ended = group.end() => return Ok((ended?, None)),
        stop = limits.reached(run) => stop,
    };
    group.terminate();
    let ended = match timeout(limits.grace, group.end()).await {
        Ok(ended) => ended,
        Err(_) => {
            tracing::warn!("the command did not stop in time and is killed");
            group.kill();
            group.end().await
        }
    };
    Ok((ended?, Some(stop)))
}

fn outcome(ended: Ended, last: LastLine, tail: &Tail, retry_in: Duration) -> Outcome {
    let failure = || Failure::new(error(ended, tail)).class(ended.class());
    match ended {
        Ended::Exit(0) => Outcome::Complete(last.json()),
        Ended::Exit(TRY_AGAIN) => Outcome::Retry {
            after: Some(retry_in),
            failure: failure(),
        },
        Ended::Exit(NEVER_MIND) => Outcome::Discard(failure()),
        Ended::Exit(_) | Ended::Signal(_) => Outcome::Fail(failure()),
    }
}

fn error(ended: Ended, tail: &Tail) -> String {
    match (ended, tail.text()) {
        (_, text) if text.is_empty() => ended.to_string(),
        // Nothing else tells of it.
        (Ended::Signal(_), text) => format!("{ended}\n{text}"),
        (Ended::Exit(_), text) => text,
    }
}

/// A fact, and what standard error has had to say.
pub fn with_words(fact: &str, tail: &Tail) -> String {
    match tail.text() {
        text if text.is_empty() => fact.to_owned(),
        text => format!("{fact}\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(ended: Ended, errors: &str) -> Outcome {
        let (mut last, mut tail) = (LastLine::default(), Tail::default());
        last.add(b"{\"sent\": 1}\n");
        tail.add(errors.as_bytes());
        outcome(ended, last, &tail, Duration::from_secs(60))
    }

    #[test]
    fn the_exit_status_decides() {
        let complete = ended(Ended::Exit(0), "a warning");
        assert!(
            matches!(complete, Outcome::Complete(Some(result)) if result.get() == "{\"sent\": 1}")
        );
        let is = |failure: &Failure, error, class| *failure == Failure::new(error).class(class);
        let retry = ended(Ended::Exit(75), "busy\n");
        assert!(matches!(retry, Outcome::Retry { after, failure }
            if after == Some(Duration::from_secs(60)) && is(&failure, "busy", "exit.75")));
        let discard = ended(Ended::Exit(65), "no such user\n");
        assert!(
            matches!(discard, Outcome::Discard(failure) if is(&failure, "no such user", "exit.65"))
        );
        let fail = ended(Ended::Exit(1), "");
        assert!(matches!(fail, Outcome::Fail(failure) if is(&failure, "exit status 1", "exit.1")));
        let killed = ended(Ended::Signal(9), "half done");
        let error = "killed by signal 9\nhalf done";
        assert!(matches!(killed, Outcome::Fail(failure) if is(&failure, error, "signal.9")));
    }
}
