//! The command line: what clap reads, and what the help, the manual pages and the completions are made from.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::connection;
use crate::error::Error;

/// Works on, watches and operates the job queues of Turnstile
#[derive(Parser)]
#[command(name = "turnstile", version)]
pub struct Cli {
    #[command(flatten)]
    pub connection: connection::Options,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show queues, tenants, batches and workers as they change
    Top(crate::top::Args),
    /// Show jobs as they end
    Tail(crate::tail::Args),
    /// Tell why a job waits, and when it may start
    Why(crate::why::Args),
    /// Add a job
    Enqueue(crate::enqueue::Args),
    /// Make jobs available that failed, ended or are put off
    Retry(crate::change::Args),
    /// Cancel jobs: those that wait end, and runs are asked to stop
    Cancel(crate::change::Args),
    /// Compare the memory of the scheduler with the tables
    Check(crate::check::Args),
}

impl Command {
    pub async fn run(self, connection: &connection::Options) -> Result<ExitCode, Error> {
        match self {
            Command::Top(args) => crate::top::run(args, connection).await,
            Command::Tail(args) => crate::tail::run(args, connection).await,
            Command::Why(args) => crate::why::run(args, connection).await,
            Command::Enqueue(args) => crate::enqueue::run(args, connection).await,
            Command::Retry(args) => crate::retry::run(args, connection).await,
            Command::Cancel(args) => crate::cancel::run(args, connection).await,
            Command::Check(args) => crate::check::run(args, connection).await,
        }
    }
}
