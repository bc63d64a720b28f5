//! Which jobs: the filters of `cancel_many` and `retry_many`.

use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::Error;
use crate::{arguments, json, query};

/// The server does so many in one transaction. Where it does fewer, none is left.
const CHUNK: u32 = 1_000;

#[derive(clap::Args)]
#[group(id = "filter", multiple = true)]
#[command(next_help_heading = "Jobs by what they are")]
pub struct Filter {
    /// Jobs of this queue
    #[arg(long)]
    queue: Option<String>,
    /// Jobs of this kind. * in it stands for any text
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
    /// Jobs with this concurrency key
    #[arg(long, value_name = "KEY")]
    concurrency_key: Option<String>,
    /// Jobs whose last error begins with this
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Jobs whose metadata contain this JSON; @FILE reads a file
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

impl Filter {
    /// Reads the file that was named in place of metadata.
    pub fn read(&mut self) -> Result<(), Error> {
        if let Some(metadata) = &mut self.metadata {
            *metadata = json::read("the metadata", metadata)?;
        }
        Ok(())
    }

    /// Calls a statement that takes the filters and does a part of the jobs, until none is left or it has done enough. Gives the number
    /// of jobs, whatever has come then. Those that come to match meanwhile are left alone, or a job that always fails would be retried
    /// for ever.
    pub async fn repeat(
        &self,
        client: &Client,
        sql: &str,
        limit: Option<u32>,
    ) -> (u64, Result<(), Error>) {
        let began = Instant::now();
        let mut done = 0;
        loop {
            let left = limit.map_or(u64::MAX, |limit| u64::from(limit).saturating_sub(done));
            let chunk = u32::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            match self.once(client, sql, chunk, began.elapsed()).await {
                Ok(jobs) => {
                    done += u64::from(jobs);
                    if jobs < CHUNK {
                        return (done, Ok(()));
                    }
                }
                Err(error) => return (done, Err(error)),
            }
        }
    }

    async fn once(
        &self,
        client: &Client,
        sql: &str,
        chunk: u32,
        elapsed: Duration,
    ) -> Result<u32, Error> {
        let older_than = self.older_than.map(|time| time.as_secs_f64());
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
                (&older_than, Type::FLOAT8),
                (&chunk, Type::INT4),
                (&self.parent, Type::INT8),
                (&self.concurrency_key, Type::TEXT),
                (&self.metadata, Type::TEXT),
                (&self.error, Type::TEXT),
                (&elapsed.as_secs_f64(), Type::FLOAT8),
            ],
        )
        .await
    }
}
