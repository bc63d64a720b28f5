//! What the views of figures say, as the program shows and prints it. A key of the JSON is the name of a field.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::Error;
use crate::query;

const SUMMARY: &str = include_str!("summary.sql");
const QUEUES: &str = concat!(include_str!("queues.sql"), include_str!("gates.sql"));
const TENANTS: &str = concat!(include_str!("tenants.sql"), include_str!("gates.sql"));
const BATCHES: &str = include_str!("batches.sql");
const WORKERS: &str = include_str!("workers.sql");

/// Of each of the four, however many there are.
pub const MOST_ROWS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    Queues,
    Tenants,
    Batches,
    Workers,
}

impl Subject {
    pub const ALL: [Subject; 4] = [
        Subject::Queues,
        Subject::Tenants,
        Subject::Batches,
        Subject::Workers,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Subject::Queues => "Queues",
            Subject::Tenants => "Tenants",
            Subject::Batches => "Batches",
            Subject::Workers => "Workers",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    pub at: String,
    /// The time of day where the session is.
    #[serde(skip_serializing)]
    pub clock: String,
    pub database: String,
    pub in_recovery: bool,
    pub totals: Totals,
    pub memory: Option<Memory>,
    pub histogram_bounds_ms: Vec<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Totals {
    pub queues: i64,
    pub running: i64,
    pub waiting: i64,
    pub scheduled: i64,
    pub retryable: i64,
    pub blocked: i64,
    pub claimed_per_minute: i64,
    pub finished_per_minute: i64,
    pub oldest_waiting_seconds: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Memory {
    pub lanes: i64,
    pub lanes_outside: i64,
    pub bytes: i64,
    pub bytes_limit: i64,
}

/// A queue or a tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gate {
    pub name: String,
    pub paused: bool,
    pub paused_until: Option<String>,
    pub slots: Option<i64>,
    pub running: i64,
    pub free: Option<i64>,
    pub waiting: i64,
    pub scheduled: i64,
    pub retryable: i64,
    pub blocked: i64,
    pub oldest_waiting_seconds: Option<f64>,
    pub claimed_per_minute: i64,
    pub finished_per_minute: i64,
    pub statistics: Option<Statistics>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statistics {
    pub since: Option<String>,
    pub enqueued: i64,
    pub started: i64,
    pub completed: i64,
    pub failed: i64,
    pub retried: i64,
    pub discarded: i64,
    pub cancelled: i64,
    pub rescued: i64,
    pub wait: Times,
    pub run: Times,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Times {
    /// How many per bucket of `histogram_bounds_ms`.
    pub counts: Vec<i64>,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Batch {
    pub id: i64,
    pub kind: String,
    pub queue: String,
    pub tenant: Option<String>,
    pub state: String,
    pub paused: bool,
    pub paused_until: Option<String>,
    pub slots: Option<i64>,
    pub running: i64,
    pub waiting: i64,
    pub completed: i64,
    pub discarded: i64,
    pub cancelled: i64,
    pub total: i64,
    pub started_at: Option<String>,
    pub started_seconds_ago: Option<f64>,
    pub finished_per_minute: i64,
    pub estimated_end: Option<String>,
    pub estimated_seconds_left: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Worker {
    pub worker: Option<String>,
    pub queue: Option<String>,
    pub first_seen: Option<String>,
    pub last_seen: Option<String>,
    pub first_seen_seconds_ago: Option<f64>,
    pub last_seen_seconds_ago: Option<f64>,
    pub claims: i64,
    pub jobs: i64,
}

#[derive(Clone, Debug)]
pub enum Rows {
    Queues(Vec<Gate>),
    Tenants(Vec<Gate>),
    Batches(Vec<Batch>),
    Workers(Vec<Worker>),
}

pub async fn summary(client: &Client) -> Result<Summary, Error> {
    query::row(client, SUMMARY, &[]).await
}

/// The rows whose names contain the filter.
pub async fn rows(client: &Client, subject: Subject, filter: &str) -> Result<Rows, Error> {
    Ok(match subject {
        Subject::Queues => Rows::Queues(read(client, QUEUES, filter).await?),
        Subject::Tenants => Rows::Tenants(read(client, TENANTS, filter).await?),
        Subject::Batches => Rows::Batches(read(client, BATCHES, filter).await?),
        Subject::Workers => Rows::Workers(read(client, WORKERS, filter).await?),
    })
}

async fn read<T: for<'a> Deserialize<'a>>(
    client: &Client,
    sql: &str,
    filter: &str,
) -> Result<Vec<T>, Error> {
    query::rows(
        client,
        sql,
        &[(&filter, Type::TEXT), (&(MOST_ROWS as i64), Type::INT8)],
    )
    .await
}
