//! `turnstile work`: claims jobs and has commands do them.
//!
//! `command` runs one for each job, `persistent` talks to long-lived ones; both keep to the `limits` and end as `streams` and exit
//! codes say. `process` sees to it that no command outlives this program.

mod command;
mod limits;
mod persistent;
pub mod process;
mod program;
mod start;
mod streams;
mod variables;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use turnstile_client::{Connector, Shutdown, Worker};

use crate::error::Error;
use crate::{arguments, connection, logs, open_files};
use command::Commands;
use limits::Limits;
use persistent::{Crew, Persistent, Setup};
use process::Spawner;
use program::Program;

/// The two connections, the keeper, signals, standard streams, and a command that is about to start.
const OF_THE_PROGRAM: u64 = 40;
/// Three pipes, and the descriptor of its process.
const OF_A_COMMAND: u64 = 4;
/// How long after its grace a command counts as hopeless.
const LAST_RESORT: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    queues: arguments::Queues,
    /// How many jobs run at once
    #[arg(short, long, value_name = "JOBS", default_value_t = 1)]
    concurrency: usize,
    /// Keep the commands and give them one job after the other, as lines of JSON
    #[arg(short, long)]
    persistent: bool,
    /// With --persistent: how many jobs a command has at once. It answers them in any order
    #[arg(long, value_name = "JOBS", default_value_t = 1, requires = "persistent", value_parser = arguments::at_least_one)]
    jobs_each: usize,
    /// How long a job may run. A command that takes longer is stopped, and the run fails. Without it a command that hangs keeps its run
    #[arg(long, value_name = "TIME", value_parser = arguments::interval)]
    timeout: Option<Duration>,
    /// How long jobs may go on after SIGTERM or SIGINT. Those that do not end by then are stopped and given back. 0 stops them at once
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = arguments::zero_or_interval)]
    drain: Duration,
    /// How long a command that is stopped has between SIGTERM and SIGKILL
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = arguments::interval)]
    grace: Duration,
    /// When the next attempt is due after exit code 75, or after "retry" without "in"
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = arguments::interval)]
    retry_in: Duration,
    /// How long a run counts as alive after the last heartbeat [default: what its queue says]
    #[arg(long, value_name = "TIME", value_parser = arguments::interval)]
    lease: Option<Duration>,
    /// The longest time between heartbeats, which also tell of cancelled jobs
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = arguments::interval)]
    heartbeat: Duration,
    /// The name of this worker, as turnstile.workers shows it [default: the name of the machine and the number of the process]
    #[arg(long)]
    name: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let settings = connection.settings("turnstile work")?;
    let _logs = logs::to_stderr()?;
    let program = Program::find(args.command.clone())?;
    let files = open_files::allow(args.concurrency, OF_A_COMMAND, OF_THE_PROGRAM)?;
    let shutdown = Shutdown::on_signals()?;
    let worker = args.worker(Connector::new(settings.config, settings.tls));
    let (spawner, thread) = Spawner::start(files)?;
    let limits = args.limits();
    let worked = if args.persistent {
        let crew = Crew::default();
        let commands = Persistent {
            setup: Setup {
                program,
                limits,
                spawner,
            },
            jobs_each: args.jobs_each,
            crew: crew.clone(),
        };
        let worked = worker.run(commands, shutdown).await;
        crew.close().await;
        worked
    } else {
        let commands = Commands {
            program,
            limits,
            spawner,
        };
        worker.run(commands, shutdown).await
    };
    // It reaps what was killed.
    _ = tokio::task::spawn_blocking(move || thread.join()).await;
    worked?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn worker(&self, connector: Connector) -> Worker {
        let mut worker = Worker::new(connector)
            .queues(self.queues.in_order())
            .concurrency(self.concurrency)
            .heartbeat(self.heartbeat)
            .drain(self.drain)
            // The commands are killed at the end of their own grace, and reaped.
            .grace(self.grace.saturating_add(LAST_RESORT));
        if let Some(lease) = self.lease {
            worker = worker.lease(lease);
        }
        if let Some(name) = &self.name {
            worker = worker.name(name);
        }
        worker
    }

    fn limits(&self) -> Limits {
        Limits {
            timeout: self.timeout,
            grace: self.grace,
            retry_in: self.retry_in,
        }
    }
}
