//! The worker runtime of Turnstile, a job queue inside PostgreSQL, and its producer.
//!
//! A worker claims jobs, runs a handler for each, says every now and then that its runs are alive, and tells the server how they
//! have ended:
//!
//! ```no_run
//! use turnstile_client::{Connector, Run, Shutdown, Worker};
//!
//! #[derive(serde::Deserialize)]
//! struct Mail {
//!     to: String,
//! }
//!
//! async fn send(run: Run) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//!     let mail: Mail = run.job.payload()?;
//!     println!("to {}", mail.to);
//!     Ok(())
//! }
//!
//! #[tokio::main]
//! async fn main() -> turnstile_client::Result<()> {
//!     let server = Connector::parse("postgresql://localhost/mydb")?;
//!     let worker = Worker::new(server).queues(["mail", "*"]).concurrency(8);
//!     worker.run(send, Shutdown::on_signals()?).await
//! }
//! ```
//!
//! # How a run ends
//!
//! A handler returns an [`Outcome`], or what becomes one: `()` or `Ok(())` completes the run, `Err` fails it, and so does a panic (of the class
//! `panic`). A [`Failure`] names the class of its error, by which retry curves go.
//! [`Kinds`] has a handler for each kind of job, each with a payload of its own type.
//!
//! # When a run should stop
//!
//! [`Run::token`] is cancelled, and [`Run::stopped`] says why: the job was cancelled, the run was lost since its lease is over, or
//! the worker shuts down. A handler that goes on for longer than [`Worker::grace`] is dropped at its next `await`. Work that blocks
//! a thread belongs into `tokio::task::spawn_blocking`.
//!
//! # What it costs the server
//!
//! Two connections. On one the worker claims as many jobs as it has room for, and completes in the same call those that are done
//! without a result, so that short jobs cost a transaction for many of them. Of more than a hundred it claims half at a time: then
//! handlers run while the server makes the next claim. Where there are none it sleeps: it runs nothing until
//! there is work, or [`Worker::wait`] is over. On the other go all other ends of runs, as many as there are in one call, and one
//! heartbeat for all runs. Neither relies on anything that belongs to a session, so both may go through PgBouncer in transaction mode; the
//! sleeper keeps one connection of its pool. Without the other connection nothing is claimed: no heartbeat could be sent, and a job that
//! is longer than its lease would run again and again.
//!
//! # When the server is away
//!
//! Connections come back by themselves, with pauses that grow. Runs go on meanwhile, for the server knows them by job and attempt;
//! how they have ended is told when it is there again. A run whose lease ends meanwhile is lost, and is told to stop. A
//! job whose claim had no answer comes back when its lease is over.
//!
//! An end that the server does not take now, as a trigger raises an error, goes alone, again after pauses that grow; after 20 refusals the
//! run fails with what the server has said. Only a lock is waited for without an end.
//!
//! # Producing
//!
//! [`enqueue`] adds a [`NewJob`] by the caller's own connection or open transaction.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod attempt;
mod backoff;
mod claims;
mod connector;
mod done;
mod ending;
mod endings;
mod enqueue;
mod error;
mod failure;
mod handler;
mod held;
mod life;
mod link;
mod outcome;
mod pulse;
mod run;
mod send;
mod settings;
mod shutdown;
#[cfg(unix)]
mod signals;
mod statement;
mod time;
mod told;
mod worker;

pub use connector::Connector;
pub use enqueue::{Added, NewJob, enqueue, enqueue_many};
pub use error::{Error, Result};
pub use failure::Failure;
pub use handler::{Handler, Kinds};
pub use outcome::{Outcome, StopReason};
pub use run::{Children, Job, Run};
pub use shutdown::Shutdown;
#[cfg(unix)]
pub use signals::Signals;
pub use time::rfc3339;
pub use worker::Worker;
