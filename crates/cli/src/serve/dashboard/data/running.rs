//! Which jobs run, as the memory of the server has it.

use serde::Deserialize;

use super::super::filter::Filter;
use super::super::value::Value;
use super::super::view::View;
use super::window::{ENOUGH, FEW_JOBS};
use crate::listener::Problem;

const RUNNING: &str = include_str!("../sql/running.sql");

#[derive(Deserialize)]
pub struct Running {
    pub ids: Vec<i64>,
    /// So many more run, as figures have it.
    pub missing: i64,
}

/// None: the role may not know them all, or only the tables can tell.
pub async fn running(view: &View, queue: &str) -> Result<Option<Running>, Problem> {
    if !view.can.calls("running_jobs") || !view.can.figures() || view.can.in_recovery {
        return Ok(None);
    }
    let arguments = [Filter::text(queue), Value::from(FEW_JOBS)];
    view.within(ENOUGH).row(RUNNING, &arguments).await
}
