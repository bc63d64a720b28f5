//! `turnstile dispatch`: claims jobs and posts each to the endpoint of its kind.
//!
//! `dispatcher` does a run from the claim to its outcome. `directory` asks the server for endpoints and tells it of them; `request`,
//! `exchange` and `verdict` make the request, send it and judge the answer; `hosts` counts failures in a row, and `class` names the sorts of
//! errors.

mod class;
mod directory;
mod dispatcher;
mod endpoint;
mod exchange;
mod hosts;
mod request;
mod verdict;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use turnstile_client::{Connector, Shutdown, Worker};

use crate::connection::{self, Pool, Settings};
use crate::error::Error;
use crate::http::client::Clients;
use crate::http::secrets::Secrets;
use crate::http::token::Tokens;
use crate::{arguments, callbacks, logs, open_files};
use directory::Directory;
use dispatcher::Dispatcher;
use exchange::LONGEST_CONNECT;
use hosts::Hosts;
use request::{Callbacks, Requests};

/// Connections to the server, signals, standard streams, calls back.
const OF_THE_PROGRAM: u64 = 100;
/// A connection, and one that is not used any more but not closed yet.
const OF_A_REQUEST: u64 = 2;
/// For calls back.
const CONNECTIONS: usize = 8;
/// The handler of a run that has to stop returns at once.
const TO_STOP: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    queues: arguments::Queues,
    /// How many requests are under way at once
    #[arg(short, long, value_name = "JOBS", default_value_t = 500)]
    concurrency: usize,
    /// How long requests may go on after SIGTERM or SIGINT. Then jobs that were not sent are given back, and those that were fail. 0: at once
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = arguments::zero_or_interval)]
    grace: Duration,
    /// How long a run counts as alive after the last heartbeat, and the most that its request may last [default: what its queue says]
    #[arg(long, value_name = "TIME", value_parser = arguments::interval)]
    lease: Option<Duration>,
    /// The longest time between heartbeats, which also tell of cancelled jobs
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = arguments::interval)]
    heartbeat: Duration,
    /// The name of this dispatcher, as turnstile.workers shows it [default: the name of the machine and the number of the process]
    #[arg(long)]
    name: Option<String>,
    /// Do not bind runs to the connection: for a pooler in transaction mode. Jobs of a dispatcher that dies then wait for the end of their leases
    #[arg(long)]
    unbound: bool,
    /// The folder below which secrets of endpoints are (file:…)
    #[arg(long, value_name = "FOLDER")]
    secrets: Option<PathBuf>,
    /// Listen here for calls back from async endpoints
    #[arg(long, value_name = "ADDRESS:PORT", requires_all = ["callback_url", "callback_key"])]
    callbacks: Option<SocketAddr>,
    /// How endpoints reach a listener for calls back, of this dispatcher or of another one with the same key
    #[arg(long, value_name = "URL", requires = "callback_key")]
    callback_url: Option<String>,
    /// The file with the key that tokens for calls back are made with, the same for all dispatchers
    #[arg(long, value_name = "FILE", requires = "callback_url")]
    callback_key: Option<PathBuf>,
    /// The source of CloudEvents
    #[arg(long, value_name = "URI", default_value = "/turnstile")]
    source: String,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let settings = connection.settings("turnstile dispatch")?;
    let _logs = logs::to_stderr()?;
    open_files::allow(args.concurrency, OF_A_REQUEST, OF_THE_PROGRAM)?;
    let tokens = args.tokens()?;
    let directory = Directory::new(&settings)?;
    directory.check().await?;
    let dispatcher = Dispatcher {
        directory,
        requests: Requests {
            secrets: args.secrets()?,
            source: args.source.clone(),
            callbacks: args.callbacks(tokens.as_ref()),
        },
        clients: Clients::new(LONGEST_CONNECT, args.concurrency)?,
        hosts: Hosts::default(),
    };
    let shutdown = Shutdown::on_signals()?;
    let over = CancellationToken::new();
    let listener = args.listen(&settings, tokens, over.clone()).await?;
    let worker = args.worker(Connector::new(settings.config, settings.tls));
    let worked = worker.run(dispatcher, shutdown).await;
    over.cancel();
    if let Some(listener) = listener {
        _ = listener.await;
    }
    worked?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn worker(&self, connector: Connector) -> Worker {
        let mut worker = Worker::new(connector)
            .queues(self.queues.in_order())
            .concurrency(self.concurrency)
            .heartbeat(self.heartbeat)
            .bind_to_connection(!self.unbound)
            // Once more it would be sent for nothing.
            .results_are_optional(true)
            .drain(self.grace)
            .grace(TO_STOP);
        if let Some(lease) = self.lease {
            worker = worker.lease(lease);
        }
        if let Some(name) = &self.name {
            worker = worker.name(name);
        }
        worker
    }

    /// One that is missing would fail all jobs with secrets, and nobody would know before.
    fn secrets(&self) -> Result<Secrets, Error> {
        match &self.secrets {
            Some(folder) if !folder.is_dir() => Err(Error::Usage(format!(
                "--secrets {} is no folder that can be read",
                folder.display()
            ))),
            folder => Ok(Secrets::new(folder.clone())),
        }
    }

    fn tokens(&self) -> Result<Option<Arc<Tokens>>, Error> {
        let tokens = self.callback_key.as_deref().map(Tokens::from_file);
        Ok(tokens.transpose()?.map(Arc::new))
    }

    fn callbacks(&self, tokens: Option<&Arc<Tokens>>) -> Option<Callbacks> {
        Some(Callbacks {
            url: self.callback_url.clone()?,
            tokens: Arc::clone(tokens?),
        })
    }

    /// Takes calls back until `over`.
    async fn listen(
        &self,
        settings: &Settings,
        tokens: Option<Arc<Tokens>>,
        over: CancellationToken,
    ) -> Result<Option<JoinHandle<()>>, Error> {
        let (Some(address), Some(tokens)) = (self.callbacks, tokens) else {
            return Ok(None);
        };
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Error::Usage(format!(
                "--callbacks {address} cannot be listened on: {error}"
            ))
        })?;
        let database = Pool::new(settings.clone(), CONNECTIONS)?;
        tracing::info!(address = %listener.local_addr()?, "takes calls back");
        let ended = over.cancelled_owned();
        Ok(Some(tokio::spawn(callbacks::serve(
            listener, database, tokens, ended,
        ))))
    }
}
