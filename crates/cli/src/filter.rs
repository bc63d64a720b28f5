//! Which jobs: the filters of `cancel_many` and `retry_many`.

use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::Error;
use crate::{arguments, query};

/// The server does so many in one transaction.
const CHUNK: u32 = 1_000;

#[derive(clap::Args)]
#[group(id = "filter", multiple = true)]
#[command(next_help_heading = "Jobs by what they are")]
pub struct Filter {
    /// Jobs of this queue
    #[arg(long)]
    queue: Option<String>,
    /// Jobs of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Jobs of this tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Jobs of this account
    #[arg(long)]
    account: Option<String>,
    /// Jobs of this session
    #[arg(long)]
    session: Option<String>,
    /// Jobs in this state
    #[arg(long)]
    state: Option<String>,
    /// Jobs that were enqueued longer ago than this, such as 5m, 2h or 7d; finished jobs: that ended longer ago
    #[arg(long, value_name = "TIME", value_parser = arguments::interval)]
    older_than: Option<Duration>,
    /// Children of this job
    #[arg(long, value_name = "ID")]
    parent: Option<i64>,
}

impl Filter {
    /// Calls a statement that takes the filters and does a part of the jobs, until it finds none or has done enough. Gives the number
    /// of jobs, whatever has come then.
    pub async fn repeat(
        &self,
        client: &Client,
        sql: &str,
        limit: Option<u32>,
    ) -> (u64, Result<(), Error>) {
        let mut done = 0;
        loop {
            let left = limit.map_or(u64::MAX, |limit| u64::from(limit).saturating_sub(done));
            let chunk = u32::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            match self.once(client, sql, chunk).await {
                Ok(0) => return (done, Ok(())),
                Ok(jobs) => done += u64::from(jobs),
                Err(error) => return (done, Err(error)),
            }
        }
    }

    async fn once(&self, client: &Client, sql: &str, chunk: u32) -> Result<u32, Error> {
        let seconds = self.older_than.map(|time| time.as_secs_f64());
        let chunk = i32::try_from(chunk).unwrap_or(i32::MAX);
        query::row(
            client,
            sql,
            &[
                (&self.queue, Type::TEXT),
                (&self.kind, Type::TEXT),
                (&self.tenant, Type::TEXT),
                (&self.account, Type::TEXT),
                (&self.session, Type::TEXT),
                (&self.state, Type::TEXT),
                (&seconds, Type::FLOAT8),
                (&chunk, Type::INT4),
                (&self.parent, Type::INT8),
            ],
        )
        .await
    }
}
