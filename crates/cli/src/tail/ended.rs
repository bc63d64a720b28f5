//! A job that ended, or a run of it that failed, as JSON and as a line of text.

use serde::{Deserialize, Serialize};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::error::Error;
use crate::{output, query};

const RECENT: &str = include_str!("recent.sql");
/// How many are read at a time.
pub const PAGE: usize = 1_000;
const UNKNOWN: &str = "?";

#[derive(Serialize, Deserialize)]
pub struct Ended {
    pub id: i64,
    /// None: the job of a run that failed was deleted.
    pub queue: Option<String>,
    pub kind: Option<String>,
    pub tenant: Option<String>,
    pub state: String,
    pub attempt: i32,
    pub worker: Option<String>,
    pub created_at: Option<String>,
    pub claimed_at: Option<String>,
    pub finished_at: String,
    pub run_seconds: Option<f64>,
    /// `finished_at` in seconds of the epoch, if it is finite.
    #[serde(skip_serializing)]
    pub at: Option<f64>,
    #[serde(skip_serializing)]
    clock: String,
    pub error: Option<String>,
    /// When the job falls due again after a run that failed.
    pub retry_at: Option<String>,
    #[serde(default)]
    pub cursor: String,
}

pub async fn read(client: &Client, since: Option<&str>) -> Result<Vec<Ended>, Error> {
    let page = i32::try_from(PAGE).unwrap_or(i32::MAX);
    query::rows(client, RECENT, &[(&since, Type::TEXT), (&page, Type::INT4)]).await
}

impl Ended {
    /// When, how and which come first, so that columns stand below each other.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}  {:<9}  {}  {}  {}  attempt {}",
            self.clock,
            self.state,
            self.id,
            output::plain(self.queue.as_deref().unwrap_or(UNKNOWN)),
            output::plain(self.kind.as_deref().unwrap_or(UNKNOWN)),
            self.attempt
        );
        if let Some(seconds) = self.run_seconds {
            text.push_str(&format!("  ran {seconds:.3}s"));
        }
        for (name, value) in [
            ("tenant", &self.tenant),
            ("worker", &self.worker),
            ("error", &self.error),
        ] {
            if let Some(value) = value {
                text.push_str(&format!("  {name} {}", output::plain(value)));
            }
        }
        text
    }
}
