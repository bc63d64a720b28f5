//! The talk with a child: jobs go in as lines, answers come out in any order.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::protocol::{Answer, RunId};
use super::record::Record;
use crate::work::command::with_words;
use crate::work::process::{Group, Pipes};
use crate::work::streams::{Tail, pass_on};

const LONGEST_ANSWER: usize = 64 * 1024 * 1024;
/// So many answers are remembered.
const REMEMBERED: usize = 100;
/// Who closes its output is about to end.
const LAST_MOMENTS: Duration = Duration::from_secs(1);

pub enum Order {
    Do {
        run: RunId,
        line: Vec<u8>,
        reply: oneshot::Sender<Reply>,
    },
    Stop,
}

/// What has become of a job that a child was given.
pub enum Reply {
    Answer(Answer),
    /// The child has died of it, or has said what is no answer.
    Failed(String),
    /// The child was stopped for the sake of another job.
    Interrupted,
    /// The child was gone already.
    NotTaken,
}

/// Why it is over.
enum End {
    /// Nobody has work for the child any more.
    Unneeded,
    /// Its pipes are closed.
    Gone,
    /// It has said what is no answer.
    Wrong(String),
    /// It was told to stop, and had its time.
    Stopped,
}

pub struct Talk {
    group: Group,
    input: Sender,
    output: BufReader<Receiver>,
    grace: Duration,
    record: Arc<Record>,
    /// What the child has not read yet.
    unsent: Vec<u8>,
    /// What it has written of an answer.
    answer: Vec<u8>,
    in_hand: HashMap<RunId, oneshot::Sender<Reply>>,
    /// The last ones, so that what is said twice is known as such.
    answered: VecDeque<RunId>,
    /// Since it was told to stop.
    deadline: Option<Instant>,
    tail: Arc<Mutex<Tail>>,
    errors: JoinHandle<()>,
}

impl Talk {
    pub fn new(group: Group, pipes: Pipes, grace: Duration, record: Arc<Record>) -> Self {
        let tail = Arc::new(Mutex::new(Tail::default()));
        let kept = Arc::clone(&tail);
        Self {
            group,
            input: pipes.input,
            output: BufReader::new(pipes.output),
            grace,
            record,
            unsent: Vec::new(),
            answer: Vec::new(),
            in_hand: HashMap::new(),
            answered: VecDeque::new(),
            deadline: None,
            errors: tokio::spawn(pass_on(pipes.errors, move |piece| lock(&kept).add(piece))),
            tail,
        }
    }

    pub async fn go_on(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let end = self.until_end(&mut orders).await;
        if !self.in_hand.is_empty() && self.deadline.is_none() {
            self.record.failed();
        }
        refuse(&mut orders);
        self.close(end).await;
    }

    async fn until_end(&mut self, orders: &mut mpsc::UnboundedReceiver<Order>) -> End {
        loop {
            let most = (LONGEST_ANSWER + 1).saturating_sub(self.answer.len()) as u64;
            let mut output = (&mut self.output).take(most);
            let heard = tokio::select! {
                biased;
                // What was read stays in the line if another branch is first.
                heard = output.read_until(b'\n', &mut self.answer) => self.hear(heard),
                order = orders.recv(), if self.deadline.is_none() => self.obey(order),
                sent = self.input.write(&self.unsent), if !self.unsent.is_empty() => self.note_sent(sent),
                () = passed(self.deadline) => Err(End::Stopped),
            };
            if let Err(end) = heard {
                return end;
            }
            if self.deadline.is_some() {
                refuse(orders);
            }
        }
    }

    fn hear(&mut self, heard: io::Result<usize>) -> Result<(), End> {
        let line = std::mem::take(&mut self.answer);
        match heard {
            Err(_) | Ok(0) if line.is_empty() => return Err(End::Gone),
            _ if !line.ends_with(b"\n") => {
                return Err(End::Wrong(
                    "the answer does not end, or is too long".to_owned(),
                ));
            }
            _ => {}
        }
        let answer = Answer::read(line.trim_ascii()).map_err(End::Wrong)?;
        let Some(reply) = self.in_hand.remove(&answer.run()) else {
            return self.hear_of_no_job(&answer);
        };
        if self.in_hand.is_empty() && !self.output.buffer().is_empty() {
            self.in_hand.insert(answer.run(), reply);
            return Err(End::Wrong("the answer has several lines".to_owned()));
        }
        self.record.answered();
        self.answered.truncate(REMEMBERED - 1);
        self.answered.push_front(answer.run());
        _ = reply.send(Reply::Answer(answer));
        Ok(())
    }

    fn hear_of_no_job(&self, answer: &Answer) -> Result<(), End> {
        let (job, attempt) = answer.run();
        if self.answered.contains(&(job, attempt)) {
            tracing::warn!(job, attempt, "a second answer does not count");
            return Ok(());
        }
        Err(End::Wrong(format!(
            "the answer is for job {job}, attempt {attempt}, which the command does not have"
        )))
    }

    fn obey(&mut self, order: Option<Order>) -> Result<(), End> {
        match order {
            None => return Err(End::Unneeded),
            Some(Order::Stop) => {
                self.group.terminate();
                self.deadline = Some(Instant::now() + self.grace);
            }
            Some(Order::Do { reply, .. }) if self.group.is_over() => {
                _ = reply.send(Reply::NotTaken);
                // What it has started may hold its pipes open.
                return Err(End::Gone);
            }
            Some(Order::Do { run, line, reply }) => {
                if self.in_hand.is_empty() {
                    // What it said before belongs to other jobs.
                    lock(&self.tail).clear();
                }
                self.unsent.extend_from_slice(&line);
                self.in_hand.insert(run, reply);
            }
        }
        Ok(())
    }

    fn note_sent(&mut self, sent: io::Result<usize>) -> Result<(), End> {
        match sent {
            Ok(bytes) => {
                self.unsent.drain(..bytes.min(self.unsent.len()));
                Ok(())
            }
            Err(_) => Err(End::Gone),
        }
    }

    async fn close(mut self, end: End) {
        match end {
            End::Unneeded => self.let_go().await,
            _ if self.deadline.is_some() => self.end_stopped().await,
            End::Gone => {
                let words = self.last_words().await;
                self.fail_all(&words);
            }
            // The next line might be the rest of this answer.
            End::Wrong(what) if self.in_hand.is_empty() => {
                tracing::warn!("a command is replaced, as it says what was not asked: {what}");
            }
            End::Wrong(what) => self.fail_all(&what),
            End::Stopped => {}
        }
    }

    async fn let_go(self) {
        let Self {
            mut group,
            input,
            grace,
            ..
        } = self;
        drop(input);
        if timeout(grace, group.end()).await.is_err() {
            tracing::warn!("a command did not end with its input and is killed");
        }
    }

    /// The other jobs that it had are not to blame.
    async fn end_stopped(&mut self) {
        let deadline = self.deadline.unwrap_or_else(Instant::now);
        if timeout_at(deadline, self.group.end()).await.is_err() {
            tracing::warn!("the command did not stop in time and is killed");
            self.group.kill();
            _ = timeout(self.grace, self.group.end()).await;
        }
        for (_, reply) in self.in_hand.drain() {
            _ = reply.send(Reply::Interrupted);
        }
    }

    async fn last_words(&mut self) -> String {
        let ended = match timeout(LAST_MOMENTS, self.group.end()).await {
            Ok(Ok(ended)) => {
                _ = timeout(LAST_MOMENTS, &mut self.errors).await;
                format!("the command has ended before it answered: {ended}")
            }
            _ => "the command has closed its output and was killed".to_owned(),
        };
        with_words(&ended, &lock(&self.tail))
    }

    fn fail_all(&mut self, why: &str) {
        if self.in_hand.is_empty() {
            tracing::warn!("a command has ended between two jobs");
        }
        for (_, reply) in self.in_hand.drain() {
            _ = reply.send(Reply::Failed(why.to_owned()));
        }
    }
}

/// An order that comes now needs another child.
fn refuse(orders: &mut mpsc::UnboundedReceiver<Order>) {
    orders.close();
    while let Ok(order) = orders.try_recv() {
        if let Order::Do { reply, .. } = order {
            _ = reply.send(Reply::NotTaken);
        }
    }
}

/// Never, without a deadline.
async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
