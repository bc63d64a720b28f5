//! `turnstile serve`: the dashboard, and jobs by HTTP.
//!
//! `dashboard` is the one. `routes` puts the other together of `jobs`, `health` and `document`; `app` is what its requests have, `caller` finds
//! the role of one by the `tokens`, and `waiters` wait for ends of jobs. `doors` decides which of them is open, and to whom; `asked` says when
//! all is to end.

mod app;
mod asked;
mod caller;
pub mod dashboard;
mod document;
mod doors;
mod health;
mod jobs;
mod routes;
mod shares;
mod tokens;
mod waiters;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::callbacks;
use crate::connection::{self, Pool};
use crate::error::Error;
use crate::http::token::Tokens;
use crate::listener::{self, Limits};
use crate::{arguments, logs, open_files};
use app::{App, Servers};
use asked::Asked;
use dashboard::Dashboard;
use shares::Shares;
use tokens::TokenFile;
use waiters::Waiters;

#[derive(clap::Args)]
pub struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    #[command(flatten)]
    doors: doors::Args,
    /// The file that names a role for each token: with it jobs can be added by HTTP
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The longest body of a request
    #[arg(long, value_name = "SIZE", default_value = "1mb", value_parser = arguments::size)]
    max_body: usize,
    /// The longest that a request waits for the end of a job
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = arguments::zero_or_interval)]
    max_wait: Duration,
    /// How many requests wait for the end of a job at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    max_waiters: usize,
    /// How many connections of clients there are at once. Others wait until one of these has gone
    #[arg(long, value_name = "NUMBER", default_value = "4000", value_parser = number)]
    max_clients: usize,
    /// How many connections to the server requests for jobs have at most. /readyz has one of its own, the dashboard six, and each login of --basic four
    #[arg(short, long, value_name = "NUMBER", default_value = "10", value_parser = number)]
    connections: usize,
    /// How long requests under way may take after SIGTERM or SIGINT
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = arguments::zero_or_interval)]
    grace: Duration,
    /// Where to listen for callbacks of runs that endpoints go on with
    #[arg(long, value_name = "ADDRESS:PORT", requires = "callback_key")]
    callbacks: Option<SocketAddr>,
    /// The file with the key of the tokens of callbacks, as for turnstile dispatch
    #[arg(long, value_name = "FILE", requires = "callbacks")]
    callback_key: Option<PathBuf>,
}

/// Calls back, connections to the server, signals, standard streams.
const OF_THE_PROGRAM: u64 = 600;
/// Connections for /readyz.
const FOR_HEALTH: usize = 1;
/// How long a request waits for a transaction that has its unique key, or a lock.
const LOCK: Duration = Duration::from_secs(10);

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let settings = connection.settings("turnstile serve")?;
    let _logs = logs::to_stderr()?;
    let clients = open_files::connections(args.max_clients, OF_THE_PROGRAM);
    let tokens = args.tokens.clone().map(TokenFile::read).transpose()?;
    let doors = args.doors.open(args.listen, tokens.is_some())?;
    let callback_tokens = args.callback_key.as_deref().map(Tokens::from_file);
    let callback_tokens = callback_tokens.transpose()?;
    let health = Pool::new(settings.clone(), FOR_HEALTH)?;
    let database = Pool::new(settings.clone(), args.connections)?.with_lock_timeout(LOCK);
    let ends = asked::on_signals()?;
    let listener = listen(args.listen, doors.scheme(), doors.said).await?;
    let dashboard = doors
        .dashboard
        .map(|(options, mode)| Dashboard::new(options, mode, settings, ends.clone()))
        .transpose()?;
    let calls = match (args.callbacks, callback_tokens) {
        (Some(address), Some(tokens)) => {
            Some((listen(address, "http", "callbacks").await?, tokens))
        }
        _ => None,
    };
    let servers = Servers {
        database: database.clone(),
        health,
        shares: Shares::of_connections(args.connections),
    };
    let app = App::new(
        servers,
        tokens,
        Waiters::new(database.clone(), args.max_waiters, ends.clone()),
        args.max_body,
        args.max_wait,
    );
    let limits = Limits {
        connections: clients,
        grace: args.grace,
        tls: doors.tls,
    };
    let samples = dashboard.clone().map(Dashboard::sample);
    let router = doors::router(routes::router(app), dashboard, &doors.base);
    let requests = listener::serve(
        listener,
        router,
        limits,
        asked::until(ends.clone(), Asked::Once),
    );
    let samples = async {
        if let Some(samples) = samples {
            samples.await;
        }
    };
    let callbacks = async {
        if let Some((listener, tokens)) = calls {
            let ends = asked::until(ends.clone(), Asked::Once);
            callbacks::serve(listener, database, Arc::new(tokens), ends).await;
        }
    };
    tokio::select! {
        _ = async { tokio::join!(requests, samples, callbacks) } => {}
        () = asked::until(ends.clone(), Asked::Again) => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn number(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=100_000) => Ok(number),
        _ => Err("a number from 1 to 100000 is needed".to_owned()),
    }
}

async fn listen(address: SocketAddr, scheme: &str, what: &str) -> Result<TcpListener, Error> {
    let failed = |error| Error::Lost(format!("{address} cannot be listened on: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tracing::info!("listens for {what} on {scheme}://{address}");
    Ok(listener)
}
