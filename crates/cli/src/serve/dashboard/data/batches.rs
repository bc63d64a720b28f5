//! Batches. How many children of a live batch have ended is counted in history, so it is asked for one step after the other, until time is up.

use std::collections::HashMap;

use serde::Deserialize;

use super::super::value::Value;
use super::super::view::View;
use super::look::ids_of;
use super::window::Windows;
use crate::listener::Problem;

const BATCHES: &str = include_str!("../sql/batches.sql");
const BATCH: &str = include_str!("../sql/batch.sql");
const COUNTS: &str = include_str!("../sql/batch_counts.sql");
const SETTINGS: &str = include_str!("../sql/batch_settings.sql");

#[derive(Debug, Deserialize)]
pub struct Batch {
    pub id: i64,
    pub kind: String,
    pub queue: String,
    pub tenant: Option<String>,
    pub session: Option<String>,
    pub state: String,
    pub is_live: bool,
    pub is_paused: bool,
    pub paused_until: Option<f64>,
    pub slots: Option<i64>,
    pub running: i64,
    pub waiting: i64,
    pub finished_per_minute: i64,
    pub started_at: Option<f64>,
    pub estimated_end: Option<f64>,
    /// How many batches there are that match, with those that are not shown.
    pub matching: i64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Counts {
    id: i64,
    pub total: i64,
    pub completed: i64,
    pub discarded: i64,
    pub cancelled: i64,
}

#[derive(Debug, Deserialize)]
pub struct Settings {
    pub slots: Option<i64>,
    pub rate: Option<i64>,
    pub rate_seconds: f64,
    pub burst: Option<i64>,
    pub priority: Option<i64>,
    pub max_failed: Option<i64>,
    pub on_end: String,
    /// Why no child starts any more: cancelled, discarded or failed.
    pub stops: Option<String>,
}

/// Those that are live first, then the newest.
pub async fn list(view: &View, part: &str, most: i64) -> Result<Vec<Batch>, Problem> {
    view.rows(BATCHES, &[Value::from(part), Value::from(most)])
        .await
}

pub async fn find(view: &View, id: i64) -> Result<Option<Batch>, Problem> {
    view.row(BATCH, &[Value::from(id)]).await
}

pub async fn settings(view: &View, id: i64) -> Result<Option<Settings>, Problem> {
    if !view.can.reads("batch") {
        return Ok(None);
    }
    view.row(SETTINGS, &[Value::from(id)]).await
}

/// By id. Those that are missing would have taken too long.
pub async fn counts(view: &View, batches: &[Batch]) -> Result<HashMap<i64, Counts>, Problem> {
    let (live, ended): (Vec<&Batch>, Vec<&Batch>) = batches.iter().partition(|batch| batch.is_live);
    let mut counted = HashMap::new();
    // The rows of those that have ended say it.
    add(view, &ended, &mut counted).await?;
    let mut windows = Windows::new(1);
    let mut live = live.as_slice();
    while !live.is_empty() && !windows.is_time_up() {
        let size = usize::try_from(windows.size()).unwrap_or(usize::MAX);
        let (now, later) = live.split_at(size.min(live.len()));
        add(view, now, &mut counted).await?;
        live = later;
        windows.grow();
    }
    Ok(counted)
}

async fn add(
    view: &View,
    batches: &[&Batch],
    counted: &mut HashMap<i64, Counts>,
) -> Result<(), Problem> {
    if batches.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = batches.iter().map(|batch| batch.id).collect();
    let found: Vec<Counts> = view.rows(COUNTS, &[ids_of(&ids)]).await?;
    counted.extend(found.into_iter().map(|counts| (counts.id, counts)));
    Ok(())
}
