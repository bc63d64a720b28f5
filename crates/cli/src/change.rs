//! What `cancel` and `retry` share: jobs by their ids, or all that filters let through.

use std::process::ExitCode;

use serde::Serialize;
use tokio_postgres::types::Type;

use crate::each::{Answer, each};
use crate::error::Error;
use crate::filter::Filter;
use crate::{connection, output, query};

#[derive(clap::Args)]
pub struct Args {
    /// The ids of the jobs
    #[arg(value_name = "ID", conflicts_with = "filter")]
    ids: Vec<i64>,
    /// At most so many of the jobs that the filters let through
    #[arg(long, value_name = "JOBS", requires = "filter")]
    limit: Option<u32>,
    /// Print a JSON object for each id, one a line; with filters, one object with the number of jobs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: Option<Filter>,
}

/// A change, with its statements: for one job, and for many.
pub struct Change {
    pub application_name: &'static str,
    pub one: &'static str,
    pub many: &'static str,
    /// The state that a job is said to be in, in words.
    pub told: fn(&str) -> &str,
    /// What has happened to the jobs of filters.
    pub done: &'static str,
}

#[derive(Serialize)]
struct Changed {
    id: i64,
    state: String,
    #[serde(skip)]
    told: fn(&str) -> &str,
}

#[derive(Serialize)]
struct Count {
    jobs: u64,
}

impl Change {
    pub async fn run(
        &self,
        mut args: Args,
        connection: &connection::Options,
    ) -> Result<ExitCode, Error> {
        if let Some(filter) = &mut args.filter {
            filter.read()?;
        }
        match &args.filter {
            None if args.ids.is_empty() => Err(Error::Usage(
                "nothing says which jobs: give their ids, or filters such as --queue or --state (--help has all)"
                    .to_owned(),
            )),
            Some(filter) => self.run_many(filter, &args, connection).await,
            None => {
                each(
                    self.application_name,
                    connection,
                    &args.ids,
                    args.json,
                    async |client, id| {
                        let state = query::row(client, self.one, &[(&id, Type::INT8)]).await?;
                        Ok(Changed {
                            id,
                            state,
                            told: self.told,
                        })
                    },
                )
                .await
            }
        }
    }

    /// Tells how many were done also where it could not go on.
    async fn run_many(
        &self,
        filter: &Filter,
        args: &Args,
        connection: &connection::Options,
    ) -> Result<ExitCode, Error> {
        let session = connection
            .settings(self.application_name)?
            .connect()
            .await?;
        let (jobs, outcome) = filter.repeat(&session.client, self.many, args.limit).await;
        session.close().await;
        if outcome.is_ok() || jobs > 0 {
            if args.json {
                output::json(&Count { jobs })?;
            } else {
                output::line(&format_args!("{jobs} jobs {}", self.done))?;
            }
        }
        outcome.map(|()| ExitCode::SUCCESS)
    }
}

impl Answer for Changed {
    fn text(&self) -> String {
        format!("job {}: {}", self.id, (self.told)(&self.state))
    }
}
