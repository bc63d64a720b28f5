//! What the server says of a job.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::listener::Problem;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const OF_MINE: &str = include_str!("../../sql/job_mine.sql");
const OF_STATUS: &str = include_str!("../../sql/job_status.sql");
const ENDS_OF_MINE: &str = include_str!("../../sql/ends_mine.sql");
const ENDS_OF_STATUS: &str = include_str!("../../sql/ends_status.sql");
const WHY: &str = include_str!("../../sql/why_job.sql");
const ESTIMATE: &str = include_str!("../../sql/estimate.sql");
const SESSION: &str = include_str!("../../sql/session_pause.sql");

/// The job has gone, or does not wait any more.
const OF_THE_MOMENT: [&str; 2] = ["P0002", "55000"];

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
    /// Seconds since 1970, as all times.
    pub unique_until: Option<f64>,
    pub priority: i32,
    pub attempt: i32,
    pub max_attempts: i32,
    pub uncounted: i32,
    pub worker: Option<String>,
    pub owner_pid: Option<i32>,
    pub parent: Option<i64>,
    pub opens_batch: bool,
    /// How its children ended.
    pub children: Option<Box<RawValue>>,
    pub has_followers: bool,
    pub created_at: f64,
    /// Absent if it is infinite.
    pub run_at: Option<f64>,
    pub started_at: Option<f64>,
    pub finished_at: Option<f64>,
    pub lease_expires_at: Option<f64>,
    pub cancel_requested_at: Option<f64>,
    // What may not be seen is absent.
    #[serde(default)]
    pub payload: Option<Box<RawValue>>,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    #[serde(default)]
    pub result: Option<Box<RawValue>>,
    #[serde(default)]
    pub progress: Option<Box<RawValue>>,
    #[serde(default)]
    pub errors: Option<Box<RawValue>>,
    /// Whether it was found among those whose payloads the viewer may see.
    #[serde(skip)]
    pub is_open: bool,
}

impl Job {
    /// A role may see some jobs as a tenant and all as an operator.
    pub async fn find(view: &View, id: i64) -> Result<Option<Self>, Problem> {
        let arguments = [Value::from(id)];
        if view.can.payloads()
            && let Some(mut job) = view.row::<Self>(OF_MINE, &arguments).await?
        {
            job.is_open = true;
            return Ok(Some(job));
        }
        if view.can.reads("job_status") {
            return view.row(OF_STATUS, &arguments).await;
        }
        Ok(None)
    }

    pub fn is_finished(&self) -> bool {
        self.finished_at.is_some()
    }

    /// Whether a claim waits for it, of which can be said why it does not start.
    pub fn waits(&self) -> bool {
        ["available", "scheduled", "retryable"].contains(&self.state.as_str())
    }

    /// Attempts that count.
    pub fn counted(&self) -> i64 {
        i64::from(self.attempt) - i64::from(self.uncounted)
    }
}

/// One end of a job that ended more than once.
#[derive(Debug, Deserialize)]
pub struct End {
    pub state: String,
    pub finished_at: f64,
}

pub async fn ends(view: &View, job: &Job) -> Result<Vec<End>, Problem> {
    let sql = if job.is_open {
        ENDS_OF_MINE
    } else {
        ENDS_OF_STATUS
    };
    view.rows(sql, &[Value::from(job.id)]).await
}

#[derive(Debug, Deserialize)]
pub struct Reason {
    pub reason: String,
    pub gate: Option<String>,
    pub name: Option<String>,
    pub running: Option<i64>,
    pub slots: Option<i64>,
    pub opens_at: Option<f64>,
    pub holder: Option<i64>,
    pub detail: String,
}

#[derive(Debug, Deserialize)]
pub struct Estimate {
    pub ahead: i64,
    pub is_capped: bool,
    pub starts_per_minute: Option<f64>,
    pub bottleneck: Option<String>,
    pub starts_at: Option<f64>,
}

/// Nothing if it has started meanwhile.
pub async fn reasons(view: &View, id: i64) -> Result<Option<Vec<Reason>>, Problem> {
    match view.rows(WHY, &[Value::from(id)]).await {
        Ok(reasons) => Ok(Some(reasons)),
        Err(problem) if is_of_the_moment(&problem) => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// What is not known is no fault of the page.
pub async fn estimate(view: &View, id: i64) -> Option<Estimate> {
    view.row(ESTIMATE, &[Value::from(id)]).await.ok().flatten()
}

fn is_of_the_moment(problem: &Problem) -> bool {
    problem
        .code()
        .is_some_and(|code| OF_THE_MOMENT.contains(&code))
}

/// A pause of the session.
#[derive(Debug, Deserialize)]
pub struct Pause {
    /// Absent if it does not end by itself.
    pub until: Option<f64>,
}

pub async fn session_pause(view: &View, job: &Job) -> Result<Option<Pause>, Problem> {
    let Some(session) = job.session.as_deref() else {
        return Ok(None);
    };
    if !view.can.reads("paused_session") {
        return Ok(None);
    }
    let arguments = [
        Value::from(job.queue.as_str()),
        Value::from(job.tenant.as_deref()),
        Value::from(session),
    ];
    view.row(SESSION, &arguments).await
}
