//! One job, why it waits, its children, and what it comes after.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::value::Value;
use super::super::view::View;
use super::count::MOST_COUNTED;
use super::source::{Source, Statement, of_seen, parts};
use crate::listener::Problem;

const JOB: Statement = Statement {
    mine: parts!("job", "job_of_mine"),
    status: parts!("job", "job_of_status"),
};
const WHY: &str = include_str!("../sql/why_job.sql");
const ESTIMATE: &str = include_str!("../sql/estimate.sql");
const CHILDREN: Statement = of_seen!("children");
const DEPENDENCIES: &str = include_str!("../sql/dependencies.sql");

/// The states of jobs that have ended.
pub const FINISHED: &[&str] = &["completed", "cancelled", "discarded"];
/// Larger documents are not shown.
pub const LARGEST_DOCUMENT: i64 = 256 * 1024;
/// Of the jobs before and behind.
pub const MOST_DEPENDENCIES: i64 = 20;

#[derive(Debug, Deserialize)]
pub struct Job {
    pub id: i64,
    pub state: String,
    pub kind: String,
    pub queue: String,
    pub tenant: Option<String>,
    pub account: Option<String>,
    pub session: Option<String>,
    pub holds_session: bool,
    pub concurrency_key: Option<String>,
    pub unique_key: Option<String>,
    pub unique_mode: Option<String>,
    pub priority: i32,
    pub attempt: i32,
    pub max_attempts: i32,
    pub uncounted: i32,
    pub worker: Option<String>,
    pub owner_pid: Option<i32>,
    pub parent: Option<i64>,
    pub has_followers: bool,
    pub created_at: Option<f64>,
    /// None: never.
    pub run_at: Option<f64>,
    pub started_at: Option<f64>,
    pub finished_at: Option<f64>,
    pub lease_expires_at: Option<f64>,
    pub cancel_requested_at: Option<f64>,
    pub unique_until: Option<f64>,
    /// For who may see them; none for others.
    pub documents: Option<Documents>,
}

/// A document that is there but not given is larger than `LARGEST_DOCUMENT`.
#[derive(Debug, Deserialize)]
pub struct Documents {
    pub progress: Option<Box<RawValue>>,
    pub payload: Option<Box<RawValue>>,
    pub payload_bytes: Option<i64>,
    pub result: Option<Box<RawValue>>,
    pub result_bytes: Option<i64>,
    pub metadata: Option<Box<RawValue>>,
    pub metadata_bytes: Option<i64>,
    /// How many attempts are known to have failed.
    pub failures: i64,
    /// The last of them, the newest first.
    pub attempts: Vec<Attempt>,
}

#[derive(Debug, Deserialize)]
pub struct Attempt {
    pub attempt: Option<String>,
    pub at: Option<f64>,
    pub worker: Option<String>,
    pub error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Reason {
    pub reason: String,
    pub gate: Option<String>,
    pub name: Option<String>,
    pub opens_at: Option<f64>,
    pub holder: Option<i64>,
    pub detail: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Estimate {
    pub ahead: i64,
    pub is_capped: bool,
    pub starts_per_minute: Option<f64>,
    pub bottleneck: Option<String>,
    pub starts_at: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct InState {
    pub state: String,
    pub jobs: i64,
}

#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The other job must end before this one starts.
    pub is_before: bool,
    pub id: i64,
    pub any_end: bool,
    pub holds: bool,
    pub kind: Option<String>,
    pub queue: Option<String>,
    pub state: Option<String>,
}

/// With its documents, if the role may see them.
pub async fn find(view: &View, id: i64) -> Result<Option<Job>, Problem> {
    if view.can.payloads() {
        let arguments = [Value::from(id), Value::from(LARGEST_DOCUMENT)];
        let found = view.row(JOB.mine, &arguments).await?;
        if found.is_some() || !view.can.reads("job_status") {
            return Ok(found);
        }
    }
    view.row(JOB.status, &[Value::from(id)]).await
}

/// Of a job that waits, or nothing if it does so no more. None at all means that the next claim takes it, so that a refusal is told as one.
pub async fn reasons(view: &View, id: i64) -> Result<Option<Vec<Reason>>, Problem> {
    match view.rows(WHY, &[Value::from(id)]).await {
        Ok(reasons) => Ok(Some(reasons)),
        Err(problem) if is_of_the_moment(&problem) => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// What is not known is no fault of a page.
pub async fn estimate(view: &View, id: i64) -> Option<Estimate> {
    if !view.can.calls("wait_estimate") {
        return None;
    }
    view.row(ESTIMATE, &[Value::from(id)]).await.ok().flatten()
}

/// 55000: it waits no more; P0002: it has gone.
fn is_of_the_moment(problem: &Problem) -> bool {
    matches!(problem.code(), Some("55000" | "P0002"))
}

/// The children by state, at most `MOST_COUNTED` of them.
pub async fn children(view: &View, id: i64) -> Result<Vec<InState>, Problem> {
    let arguments = [Value::from(id), Value::from(MOST_COUNTED)];
    let source = match view.can.reads("job_status") {
        true => Source::Status,
        false => Source::Mine,
    };
    view.rows(CHILDREN.of(source), &arguments).await
}

pub async fn has_few_children(view: &View, id: i64, few: i64) -> Result<bool, Problem> {
    let states = children(view, id).await?;
    Ok(states.iter().map(|state| state.jobs).sum::<i64>() <= few)
}

/// For operators; of others none are known.
pub async fn dependencies(view: &View, id: i64) -> Result<Vec<Dependency>, Problem> {
    if !view.can.reads("dependencies") || !view.can.reads("job_status") {
        return Ok(Vec::new());
    }
    let arguments = [Value::from(id), Value::from(MOST_DEPENDENCIES)];
    view.rows(DEPENDENCIES, &arguments).await
}
