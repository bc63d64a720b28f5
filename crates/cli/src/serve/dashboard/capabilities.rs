//! What the viewer may read and call, as the server has it. Pages offer that and no more; the server decides again on each statement.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;

use super::identity::Access;
use super::readings::Readings;
use crate::listener::Problem;

const CAPABILITIES: &str = include_str!("sql/capabilities.sql");

#[derive(Debug, Default, Deserialize)]
pub struct Capabilities {
    pub database: String,
    pub role: String,
    pub in_recovery: bool,
    pub now: f64,
    pub version: Option<String>,
    /// Views and tables of the schema that the role may select from.
    reads: HashSet<String>,
    /// Functions of the schema that the role may call.
    calls: HashSet<String>,
}

impl Capabilities {
    pub async fn of(readings: &Readings, access: &Access) -> Result<Arc<Self>, Problem> {
        let rows = readings.rows(access, CAPABILITIES, &[], None).await?;
        let text = rows.first().ok_or_else(Problem::of_another_version)?;
        serde_json::from_str(text)
            .map(Arc::new)
            .map_err(|_| Problem::of_another_version())
    }

    pub fn reads(&self, view: &str) -> bool {
        self.reads.contains(view)
    }

    pub fn calls(&self, function: &str) -> bool {
        self.calls.contains(function)
    }

    /// Figures of queues and tenants.
    pub fn figures(&self) -> bool {
        self.reads("queues")
    }

    /// Single jobs, with their payloads or without.
    pub fn jobs(&self) -> bool {
        self.reads("job_status") || self.payloads()
    }

    /// Single jobs with their payloads: those that the role may see.
    pub fn payloads(&self) -> bool {
        self.reads("my_jobs")
    }
}
