//! What the page of a job asks besides what `data::job` gives.

use serde::Deserialize;

use crate::listener::Problem;
use crate::serve::dashboard::data::batches;
use crate::serve::dashboard::data::job::{self, FINISHED, InState, Job};
use crate::serve::dashboard::data::jobs::{self, Page};
use crate::serve::dashboard::data::source::{Source, Statement, of_seen};
use crate::serve::dashboard::filter::Filter;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const ENDS: Statement = of_seen!("ends");
const SESSION: &str = include_str!("../../sql/session_pause.sql");

const SHOWN_CHILDREN: usize = 20;
/// So many can be sorted.
const MANY_CHILDREN: i64 = 5_000;

/// One end of a job that ended more than once.
#[derive(Debug, Deserialize)]
pub struct End {
    pub state: String,
    pub finished_at: f64,
}

/// The last ends, of which the last may be that of the job itself.
pub async fn ends(view: &View, job: &Job) -> Result<Vec<End>, Problem> {
    let source = match job.documents {
        Some(_) => Source::Mine,
        None => Source::Status,
    };
    view.rows(ENDS.of(source), &[Value::from(job.id)]).await
}

/// Whether it can be said why it does not start.
pub fn waits(job: &Job) -> bool {
    ["available", "scheduled", "retryable", "blocked"].contains(&job.state.as_str())
}

/// What is known of the children of a parent.
pub struct Children {
    pub by_state: Vec<InState>,
    /// The newest ones.
    pub some: Option<Page>,
    /// Not each parent has a page as a batch.
    pub is_batch: bool,
}

impl Children {
    pub async fn of(view: &View, id: i64) -> Result<Self, Problem> {
        let by_state = job::children(view, id).await?;
        let some = newest(view, id, &by_state).await?;
        let is_batch =
            some.is_some() && view.can.figures() && batches::find(view, id).await?.is_some();
        Ok(Self {
            by_state,
            some,
            is_batch,
        })
    }

    pub fn live(&self) -> i64 {
        let live = self.by_state.iter();
        let live = live.filter(|of| !FINISHED.contains(&of.state.as_str()));
        live.map(|of| of.jobs).sum()
    }
}

/// The newest of the children. Of many only the first ones are looked at, which have the next numbers after that of their parent.
async fn newest(view: &View, id: i64, by_state: &[InState]) -> Result<Option<Page>, Problem> {
    let total: i64 = by_state.iter().map(|of| of.jobs).sum();
    if total == 0 {
        return Ok(None);
    }
    let before = (total > MANY_CHILDREN).then(|| id.saturating_add(MANY_CHILDREN));
    jobs::page(view, &Filter::of_parent(id), before, SHOWN_CHILDREN)
        .await
        .map(Some)
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
    if !view.can.reads("paused_session") || !view.can.calls("session_gate") {
        return Ok(None);
    }
    let arguments = [
        Value::from(job.queue.as_str()),
        Value::from(job.tenant.as_deref()),
        Value::from(session),
    ];
    view.row(SESSION, &arguments).await
}

/// Attempts that count.
pub fn counted(job: &Job) -> i64 {
    i64::from(job.attempt) - i64::from(job.uncounted)
}
