//! The program `turnstile`: it works, looks and operates from a terminal, through the public SQL of the extension alone.
//!
//! `cli` says what its command line is; each subcommand is a module with its `Args` and its `run`. `connection` knows where the server
//! is and how to reach it,
//! `query` runs statements, `output` prints, `error` says what went wrong and which exit code that is.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod callbacks;
mod cancel;
mod change;
mod check;
mod cli;
mod connection;
#[cfg(target_os = "linux")]
mod dispatch;
mod distrust;
mod each;
mod enqueue;
mod error;
mod filter;
mod http;
mod json;
mod listener;
mod logs;
mod open_files;
mod output;
mod pages;
mod query;
mod retry;
mod serve;

mod tail;
mod top;
mod why;
#[cfg(target_os = "linux")]
mod work;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if work::process::keeper::is_asked_for() {
        return work::process::keeper::run();
    }
    act()
}

/// Help, or what is wrong with the command line.
fn tell(said: &clap::Error) -> Result<ExitCode, error::Error> {
    if said.use_stderr() {
        said.exit();
    }
    said.print()?;
    std::io::stdout().flush()?;
    Ok(ExitCode::SUCCESS)
}

fn run(cli: cli::Cli) -> Result<ExitCode, error::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(cli.command.run(&cli.connection));
    // One of its threads may be writing for ever, where nobody reads.
    runtime.shutdown_background();
    done
}

fn act() -> ExitCode {
    let done = match cli::Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(said) => tell(&said),
    };
    match done {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            error.exit_code()
        }
    }
}
