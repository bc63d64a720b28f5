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
    /// Run a command for each job
    ///
    /// It claims jobs and starts the command for each, without a shell, tells the server that the runs are alive for as long as the commands
    /// last, and how they have ended. Without work it sleeps in the server. When the connection was lost it goes on by itself. The role
    /// needs turnstile.allow_worker for the queues.
    #[cfg(target_os = "linux")]
    #[command(after_long_help = include_str!("work/manual.txt"))]
    Work(crate::work::Args),
    Top(crate::top::Args),
    Check(crate::check::Args),
}

impl Command {
    pub async fn run(self, connection: &connection::Options) -> Result<ExitCode, Error> {
        match self {
            #[cfg(target_os = "linux")]
            Command::Work(args) => crate::work::run(args, connection).await,
            Command::Top(args) => crate::top::run(args, connection).await,
            Command::Check(args) => crate::check::run(args, connection).await,
        }
    }
}
