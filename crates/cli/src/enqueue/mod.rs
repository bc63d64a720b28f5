//! `turnstile enqueue`: adds a job.

use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::Error;
use crate::{arguments, connection, json, output, query};

const ENQUEUE: &str = include_str!("enqueue.sql");

#[derive(clap::Args)]
pub struct Args {
    /// What sort of job it is: workers and routes decide by it
    kind: String,
    /// What the worker needs to know, as JSON; @FILE reads a file, - standard input
    #[arg(default_value = "{}", allow_hyphen_values = true)]
    payload: String,
    /// Where the job waits, whatever the routes say
    #[arg(long)]
    queue: Option<String>,
    /// The customer that the job belongs to
    #[arg(long)]
    tenant: Option<String>,
    /// A part of the tenant with limits of its own
    #[arg(long)]
    account: Option<String>,
    /// Jobs of one queue, tenant and session run one at a time, in order
    #[arg(long)]
    session: Option<String>,
    /// Jobs that share the key share its limits
    #[arg(long, value_name = "KEY")]
    concurrency_key: Option<String>,
    /// Lower runs first
    #[arg(long, allow_hyphen_values = true)]
    priority: Option<i32>,
    /// Not before this time, as PostgreSQL reads times: '2027-01-31 08:00+01', 'tomorrow'
    #[arg(long, value_name = "TIMESTAMP", conflicts_with = "run_in")]
    run_at: Option<String>,
    /// Not before so long from now, such as 30s, 5m or 2h
    #[arg(long = "in", value_name = "TIME", value_parser = arguments::interval)]
    run_in: Option<Duration>,
    /// How many attempts may fail before the job is discarded
    #[arg(long, value_name = "NUMBER")]
    max_attempts: Option<i32>,
    /// While another job of the tenant holds the key, no job is added and the id of that job is printed
    #[arg(long, value_name = "KEY", conflicts_with = "unique_by")]
    unique_key: Option<String>,
    /// Makes the key from these columns, such as kind,payload,tenant
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    unique_by: Option<Vec<String>>,
    /// How long the job holds its key: until_executing, until_executed, until_expired, while_executing, until_and_while_executing or replace.
    /// Without it until_executed
    #[arg(long, value_name = "MODE")]
    unique_mode: Option<String>,
    /// The states in which the job holds its key, in place of a mode: available and others. Finished ones need --unique-for
    #[arg(
        long,
        value_name = "STATE",
        value_delimiter = ',',
        conflicts_with = "unique_mode"
    )]
    unique_states: Option<Vec<String>>,
    /// Ends the hold so long after the enqueue
    #[arg(long, value_name = "TIME", value_parser = arguments::interval)]
    unique_for: Option<Duration>,
    /// Anything that the application wants to keep with the job, as JSON; @FILE reads a file
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// The job that waits for this one
    #[arg(long, value_name = "ID")]
    parent: Option<i64>,
    /// A job that must complete first; again for another
    #[arg(long, value_name = "ID")]
    after: Vec<i64>,
    /// Any end of the jobs of --after will do
    #[arg(long, requires = "after")]
    after_any_end: bool,
    /// Where a job of --after ends otherwise than it should, this one stays blocked until that is retried and completes
    #[arg(long, requires = "after")]
    after_hold: bool,
    /// Print a JSON object with the id
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Added {
    id: i64,
}

pub async fn run(args: Args, connection: &connection::Options) -> Result<ExitCode, Error> {
    let payload = json::read("the payload", &args.payload)?;
    let metadata = (args.metadata.as_deref())
        .map(|given| json::read("the metadata", given))
        .transpose()?;
    let session = connection.settings("turnstile enqueue")?.connect().await?;
    let outcome = args.enqueue(&session.client, &payload, metadata).await;
    session.close().await;
    let id = outcome?;
    if args.json {
        output::json(&Added { id })?;
    } else {
        output::line(&id)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    async fn enqueue(
        &self,
        client: &Client,
        payload: &str,
        metadata: Option<String>,
    ) -> Result<i64, Error> {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let after = (!self.after.is_empty()).then_some(&self.after);
        query::row(
            client,
            ENQUEUE,
            &[
                (&self.kind, Type::TEXT),
                (&payload, Type::TEXT),
                (&self.queue, Type::TEXT),
                (&self.tenant, Type::TEXT),
                (&self.account, Type::TEXT),
                (&self.session, Type::TEXT),
                (&self.concurrency_key, Type::TEXT),
                (&self.priority, Type::INT4),
                (&self.run_at, Type::TEXT),
                (&self.max_attempts, Type::INT4),
                (&self.unique_key, Type::TEXT),
                (&self.unique_mode, Type::TEXT),
                (&seconds(self.unique_for), Type::FLOAT8),
                (&metadata, Type::TEXT),
                (&self.unique_by, Type::TEXT_ARRAY),
                (&self.parent, Type::INT8),
                (&after, Type::INT8_ARRAY),
                (&self.after_any_end, Type::BOOL),
                (&self.after_hold, Type::BOOL),
                (&seconds(self.run_in), Type::FLOAT8),
                (&self.unique_states, Type::TEXT_ARRAY),
            ],
        )
        .await
    }
}
