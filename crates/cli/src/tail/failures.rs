//! Runs that failed and will be repeated. The server knows the last few of them.

use serde::Deserialize;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::ended::Ended;
use crate::error::Error;
use crate::{output, query};

const FAILURES: &str = include_str!("failures.sql");

#[derive(Deserialize)]
struct Failed {
    number: i64,
    #[serde(flatten)]
    run: Ended,
}

/// The place of who follows them.
pub struct Failures {
    since: Option<i64>,
    /// Whether what the next reading finds is shown: the first one may find what is older than the reader.
    shows_next: bool,
}

impl Failures {
    pub fn new(from_the_beginning: bool) -> Self {
        Self {
            since: None,
            shows_next: from_the_beginning,
        }
    }

    /// What has failed since the last reading.
    pub async fn read(&mut self, client: &Client) -> Result<Vec<Ended>, Error> {
        let failed: Vec<Failed> =
            query::rows(client, FAILURES, &[(&self.since, Type::INT8)]).await?;
        let shows = std::mem::replace(&mut self.shows_next, true);
        if let (Some(since), Some(first)) = (self.since, failed.first())
            && first.number > since + 1
        {
            output::complain(&"the server may have forgotten runs that failed meanwhile");
        }
        if let Some(last) = failed.last() {
            self.since = Some(last.number);
        }
        let shown = failed.into_iter().filter(|_| shows);
        Ok(shown.map(|failed| failed.run).collect())
    }
}
