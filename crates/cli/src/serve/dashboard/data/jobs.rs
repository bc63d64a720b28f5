//! Lists of jobs, the newest first, and how many there are.

use serde::Deserialize;

use super::super::filter::Filter;
use super::super::value::Value;
use super::super::view::View;
use super::count::{Count, MOST_COUNTED};
use super::job::FINISHED;
use super::look::{Look, Range};
use super::rest::Rest;
use super::source::{Statement, of_seen};
use crate::listener::Problem;

const JOBS: Statement = of_seen!("matching", "jobs");
const COUNT: Statement = of_seen!("matching", "count");

/// Of so many it is looked whether they were brought back since.
const MOST_CHECKED: i64 = 2_500;

#[derive(Debug, Deserialize)]
pub struct Job {
    pub id: i64,
    pub state: String,
    pub kind: String,
    pub queue: String,
    pub tenant: Option<String>,
    pub session: Option<String>,
    pub attempt: i32,
    pub max_attempts: i32,
    pub worker: Option<String>,
    pub is_cancel_requested: bool,
    /// This end was not its last: the job is live again, or has ended once more.
    pub is_brought_back: bool,
    pub created_at: Option<f64>,
    pub run_at: Option<f64>,
    pub started_at: Option<f64>,
    pub finished_at: Option<f64>,
    /// The first line of the last error, of jobs that failed, for who may see it.
    pub error: Option<String>,
}

pub struct Page {
    pub jobs: Vec<Job>,
    pub rest: Rest,
}

/// Jobs with ids below `before`.
pub async fn page(
    view: &View,
    filter: &Filter,
    before: Option<i64>,
    most: usize,
) -> Result<Page, Problem> {
    let states: Vec<&str> = Some(filter.state.as_str())
        .filter(|state| !state.is_empty())
        .into_iter()
        .collect();
    let mut look = Look::new(view, filter, &states).await?;
    match page_of(&look.bounded(view), &look, before, most).await {
        Err(problem) if look.gives_up_index(&problem) => page_of(view, &look, before, most).await,
        page => page,
    }
}

async fn page_of(
    view: &View,
    look: &Look,
    before: Option<i64>,
    most: usize,
) -> Result<Page, Problem> {
    let mut ranges = look.ranges(view, before).await?;
    let mut jobs: Vec<Job> = Vec::new();
    let rest = loop {
        ranges.skip_live(view).await?;
        let range = match ranges.next() {
            Ok(range) => range,
            Err(rest) => break rest,
        };
        let missing = i64::try_from(most.saturating_sub(jobs.len())).unwrap_or(i64::MAX);
        let arguments = look.arguments(range, missing, None);
        jobs.extend(view.rows::<Job>(JOBS.of(look.source), &arguments).await?);
        let last = jobs.last().filter(|_| jobs.len() >= most);
        match last.map(|job| job.id) {
            None => {}
            Some(..=1) => break Rest::Nothing,
            Some(id) => break Rest::More(id),
        }
    };
    Ok(Page { jobs, rest })
}

/// How many jobs in these states the filter chooses, whatever state it names. Those that have ended are looked for apart: the newest of them
/// may stand behind a large backlog.
pub async fn count(view: &View, filter: &Filter, states: &[&str]) -> Result<Count, Problem> {
    let (ended, live): (Vec<&str>, Vec<&str>) =
        states.iter().partition(|state| FINISHED.contains(state));
    if ended.is_empty() || live.is_empty() {
        return count_alike(view, filter, states).await;
    }
    let (ended, live) = tokio::try_join!(
        count_alike(view, filter, &ended),
        count_alike(view, filter, &live)
    )?;
    Ok(ended.and(live))
}

/// All of the states are of jobs that have ended, or none.
async fn count_alike(view: &View, filter: &Filter, states: &[&str]) -> Result<Count, Problem> {
    let mut look = Look::new(view, filter, states).await?;
    match count_of(&look.bounded(view), &look, states).await {
        Err(problem) if look.gives_up_index(&problem) => count_of(view, &look, states).await,
        count => count,
    }
}

async fn count_of(view: &View, look: &Look, states: &[&str]) -> Result<Count, Problem> {
    let mut ranges = look.ranges(view, None).await?;
    let mut jobs = 0;
    let has_ends = states.iter().any(|state| FINISHED.contains(state));
    let mut is_checked = has_ends;
    let rest = loop {
        ranges.skip_live(view).await?;
        let range = match ranges.next() {
            Ok(range) => range,
            Err(rest) => break rest,
        };
        if is_checked {
            let last_ends = count_in(look, view, range, MOST_CHECKED - jobs, true).await?;
            if jobs + last_ends < MOST_CHECKED {
                jobs += last_ends;
                continue;
            }
            // To look at each would take too long.
            is_checked = false;
        }
        jobs += count_in(look, view, range, MOST_COUNTED - jobs, false).await?;
        if jobs >= MOST_COUNTED {
            break Rest::More(range.low);
        }
    };
    Ok(Count {
        jobs,
        rest,
        is_exact: is_checked || !has_ends,
    })
}

/// In one range.
async fn count_in(
    look: &Look,
    view: &View,
    range: Range,
    most: i64,
    is_checked: bool,
) -> Result<i64, Problem> {
    let arguments = look.arguments(range, most, Some(Value::from(is_checked)));
    let sql = COUNT.of(look.source);
    Ok(view.row(sql, &arguments).await?.unwrap_or_default())
}
