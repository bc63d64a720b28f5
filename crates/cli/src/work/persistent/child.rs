//! A child that talks in lines.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use turnstile_client::{Job, Outcome, Run};

use super::protocol::{Answer, question};
use crate::work::command::with_words;
use crate::work::process::{Group, Spawner};
use crate::work::program::Program;
use crate::work::start::start;
use crate::work::streams::{Tail, pass_on};

const LONGEST_ANSWER: u64 = 64 * 1024 * 1024;
/// Who closes its output is about to end.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

pub struct Child {
    pub group: Group,
    pub lines: Lines,
    tail: Arc<Mutex<Tail>>,
    errors: JoinHandle<()>,
}

/// Why there is no answer.
pub enum NoAnswer {
    /// The pipes are closed.
    Gone,
    /// It has said something else.
    Wrong(String),
}

/// Both directions of the talk.
pub struct Lines {
    input: Sender,
    output: BufReader<Receiver>,
}

impl Child {
    pub async fn start(run: &Run, program: &Program, spawner: &Spawner) -> Result<Self, Outcome> {
        let (group, pipes) = start(spawner, run, || program.command()).await?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let kept = Arc::clone(&tail);
        let errors = tokio::spawn(pass_on(pipes.errors, move |piece| lock(&kept).add(piece)));
        let lines = Lines {
            input: pipes.input,
            output: BufReader::new(pipes.output),
        };
        Ok(Self {
            group,
            lines,
            tail,
            errors,
        })
    }

    /// What it says to standard error from now on belongs to another job.
    pub fn forget_errors(&self) {
        lock(&self.tail).clear();
    }

    /// Why it can be given no job: it has ended, or has said what would be taken for the next answer.
    pub fn unfit(&self) -> Option<&'static str> {
        if self.group.is_over() {
            return Some("a command has ended between two jobs");
        }
        let is_silent = self.lines.are_silent();
        (!is_silent).then_some(
            "a command has said something that nobody asked, or closed its output, and is replaced",
        )
    }

    /// Its last words, once its pipes are closed.
    pub async fn end(mut self) -> String {
        let Ok(Ok(ended)) = timeout(LAST_MOMENTS, self.group.end()).await else {
            return self.described("the command has closed its output and was killed");
        };
        _ = timeout(LAST_MOMENTS, &mut self.errors).await;
        self.described(&format!(
            "the command has ended before it answered: {ended}"
        ))
    }

    fn described(&self, fact: &str) -> String {
        with_words(fact, &lock(&self.tail))
    }

    pub async fn close(self, grace: Duration) {
        let Self {
            mut group, lines, ..
        } = self;
        drop(lines);
        if timeout(grace, group.end()).await.is_err() {
            tracing::warn!("a command did not end with its input and is killed");
        }
    }
}

impl Lines {
    /// Nothing is there to be read, not even the end.
    fn are_silent(&self) -> bool {
        const AT_ONCE: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let output = &mut [PollFd::new(self.output.get_ref(), PollFlags::IN)];
        matches!(poll(output, Some(&AT_ONCE)), Ok(0))
    }

    pub async fn ask(&mut self, job: &Job) -> Result<Answer, NoAnswer> {
        let question = question(job).map_err(|error| NoAnswer::Wrong(error.to_string()))?;
        let (input, output) = (&mut self.input, &mut self.output);
        let mut line = Vec::new();
        let mut answer = (&mut *output).take(LONGEST_ANSWER);
        // One that has not begun to read its line may have to get rid of others first.
        let (written, read) = tokio::join!(
            input.write_all(&question),
            answer.read_until(b'\n', &mut line),
        );
        if written.is_err() || read.is_err() || line.is_empty() {
            return Err(NoAnswer::Gone);
        }
        if !line.ends_with(b"\n") {
            return Err(NoAnswer::Wrong(
                "the answer does not end, or is too long".to_owned(),
            ));
        }
        let answer = Answer::read(line.trim_ascii(), job).map_err(NoAnswer::Wrong)?;
        match output.buffer().is_empty() {
            true => Ok(answer),
            false => Err(NoAnswer::Wrong("the answer has several lines".to_owned())),
        }
    }
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
