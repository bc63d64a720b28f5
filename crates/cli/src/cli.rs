//! The command line: what clap reads, and what the help, the manual pages and the completions are made from.
//!
//! What stands behind the options of each subcommand is in its `manual.txt`.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::connection;
use crate::error::Error;

/// Works on, watches and operates the job queues of Turnstile
///
/// Turnstile is a job queue inside PostgreSQL. This program is for people at a terminal and for scripts: it runs a command for each job,
/// adds jobs, shows them as they wait, run and end, and tells why they wait. All that it does, SQL functions do for you, too.
#[derive(Parser)]
#[command(name = "turnstile", version, after_long_help = include_str!("manual.txt"))]
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
    /// Post each job to the web endpoint of its kind
    ///
    /// It claims as many jobs as it may have under way, posts each to the URL that turnstile.endpoint has for its kind, and tells the
    /// server how the runs have ended by the answers. Any number of them can run, on any machines. Without work it sleeps in the server. The role
    /// needs turnstile.allow_worker for the queues.
    #[cfg(target_os = "linux")]
    #[command(after_long_help = include_str!("dispatch/manual.txt"))]
    Dispatch(crate::dispatch::Args),
    /// Show the dashboard in a browser, and take jobs by HTTP
    ///
    /// The dashboard shows queues, tenants, jobs, batches and failures as they change, and has levers for what a role may change. With
    /// --tokens programs without a driver for PostgreSQL add jobs by POST, look at them, wait for their end and cancel them. The rights of roles
    /// in the database decide on everything.
    #[command(after_long_help = include_str!("serve/manual.txt"))]
    Serve(crate::serve::Args),
    /// Show queues, tenants, batches and workers as they change
    ///
    /// It reads figures that the server keeps in memory, so that watching costs the same however many jobs there are, and rests for nine
    /// tenths of the time. It can pause and resume what it shows, after a question.
    #[command(after_long_help = concat!(include_str!("top/keys.txt"), include_str!("top/manual.txt")))]
    Top(crate::top::Args),
    /// Show jobs as they end
    ///
    /// The last ten that ended, and then each one soon after the commit that ended it: each once, also where transactions are committed
    /// out of order, and where the server was lost meanwhile. It asks once a second, which costs the server what has ended since.
    #[command(after_long_help = include_str!("tail/manual.txt"))]
    Tail(crate::tail::Args),
    /// Tell why a job waits, and when it may start
    ///
    /// It gives every reason: limits that are reached, pauses, rates, the session, the unique key, jobs that come before it. The figures are
    /// those of this moment.
    #[command(after_long_help = include_str!("why/manual.txt"))]
    Why(crate::why::Args),
    /// Add a job
    ///
    /// It can be claimed at once, unless --run-at, --in or --after put it off. What is not given is left to routes and to the settings of the
    /// queue.
    #[command(after_long_help = include_str!("enqueue/manual.txt"))]
    Enqueue(crate::enqueue::Args),
    /// Make jobs available that failed, ended or are put off
    ///
    /// A finished job comes back under its id, with its payload and errors, and with all of its attempts before it. Without --state, filters
    /// choose among those that are retryable, cancelled or discarded.
    #[command(after_long_help = include_str!("retry/manual.txt"))]
    Retry(crate::change::Args),
    /// Cancel jobs: those that wait end, and runs are asked to stop
    ///
    /// A worker learns of it with its next heartbeat. Children of a cancelled job are cancelled, too.
    #[command(after_long_help = include_str!("cancel/manual.txt"))]
    Cancel(crate::change::Args),
    /// Compare the memory of the scheduler with the tables
    ///
    /// The memory says who runs next, and the tables are the truth. A difference is an error of Turnstile: please report it.
    #[command(after_long_help = include_str!("check/manual.txt"))]
    Check(crate::check::Args),
    /// Write manual pages and completions for shells
    #[command(hide = true)]
    Pages(crate::pages::Args),
}

impl Command {
    pub async fn run(self, connection: &connection::Options) -> Result<ExitCode, Error> {
        match self {
            #[cfg(target_os = "linux")]
            Command::Work(args) => crate::work::run(args, connection).await,
            #[cfg(target_os = "linux")]
            Command::Dispatch(args) => crate::dispatch::run(args, connection).await,
            Command::Serve(args) => crate::serve::run(args, connection).await,
            Command::Top(args) => crate::top::run(args, connection).await,
            Command::Tail(args) => crate::tail::run(args, connection).await,
            Command::Why(args) => crate::why::run(args, connection).await,
            Command::Enqueue(args) => crate::enqueue::run(args, connection).await,
            Command::Retry(args) => crate::retry::run(args, connection).await,
            Command::Cancel(args) => crate::cancel::run(args, connection).await,
            Command::Check(args) => crate::check::run(args, connection).await,
            Command::Pages(args) => crate::pages::run(&args, Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{described, sections, subcommands};

    #[test]
    fn each_subcommand_tells_how_it_is_used() {
        for subcommand in subcommands::of(&described(Cli::command())) {
            let name = subcommand.get_name();
            let titles: Vec<String> = sections::of(subcommand)
                .into_iter()
                .map(|section| section.title)
                .collect();
            for title in ["Examples", "Exit status", "Environment"] {
                assert!(titles.iter().any(|each| each == title), "{name}: {title}");
            }
            assert!(subcommand.get_long_about().is_some(), "{name}");
            for argument in subcommand.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {argument}");
            }
        }
    }
}
