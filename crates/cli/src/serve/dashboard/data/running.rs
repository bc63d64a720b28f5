//! Which jobs run, as the index of leases has it. It has runs of the past, too, as long as an old snapshot may see them, so the look has a bound.

use serde::Deserialize;

use super::super::filter::Filter;
use super::super::readings::has_timed_out;
use super::super::value::Value;
use super::super::view::View;
use super::look::{FEW_JOBS, figures};
use super::window::{BRIEF, ENOUGH};
use crate::listener::Problem;

const BOUND: &str = include_str!("../sql/running_bound.sql");
const LEASED: &str = include_str!("../sql/running_leased.sql");

/// Milliseconds, after which no other part of the index is read.
const SEARCH: i64 = 40;

#[derive(Deserialize)]
pub struct Running {
    pub ids: Vec<i64>,
    /// So many more run, as figures have it, and were not found in time.
    pub missing: i64,
}

/// None: the role may not know them all.
pub async fn running(view: &View, queue: &str) -> Result<Option<Running>, Problem> {
    if !view.can.figures() || !view.can.reads("job_status") {
        return Ok(None);
    }
    let queue = Filter::text(queue);
    let bound = bound(view, &queue).await?;
    let others = i64::try_from(bound.len()).unwrap_or(i64::MAX);
    let mut found = leased(view, &queue, others).await?;
    found.ids.extend(bound);
    Ok(Some(found))
}

/// `others`: how many run without a lease.
async fn leased(view: &View, queue: &Value, others: i64) -> Result<Running, Problem> {
    let arguments = [
        queue.clone(),
        Value::from(FEW_JOBS),
        Value::from(SEARCH),
        Value::from(others),
    ];
    match view.within(ENOUGH).row(LEASED, &arguments).await {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(Problem::of_another_version()),
        // It was in the middle of a part, or the server is busy.
        Err(problem) if has_timed_out(&problem) => {
            let known = figures(view, queue).await?;
            let running = known.map_or(0, |known| known.running);
            Ok(Running {
                ids: Vec::new(),
                missing: (running - others).max(1),
            })
        }
        Err(problem) => Err(problem),
    }
}

/// None where they are not found soon: those that are missing are told by the other statement.
async fn bound(view: &View, queue: &Value) -> Result<Vec<i64>, Problem> {
    let arguments = [queue.clone(), Value::from(FEW_JOBS)];
    match view.within(BRIEF).rows(BOUND, &arguments).await {
        Err(problem) if has_timed_out(&problem) => Ok(Vec::new()),
        ids => ids,
    }
}
