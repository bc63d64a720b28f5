//! Levers of a batch.

use super::done::{Done, LIMITS, PAUSED, RESUMED};
use super::limits::Limits;
use crate::listener::Problem;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const PAUSE: &str = include_str!("sql/pause_batch.sql");
const LIMIT: &str = include_str!("sql/limit_batch.sql");

pub async fn pause(view: View, fields: Fields) -> Result<Done, Problem> {
    switch(view, fields, true).await
}

pub async fn resume(view: View, fields: Fields) -> Result<Done, Problem> {
    switch(view, fields, false).await
}

async fn switch(view: View, fields: Fields, paused: bool) -> Result<Done, Problem> {
    let id: i64 = fields.number("id")?;
    view.change(PAUSE, &[Value::from(id), Value::from(paused)])
        .await?;
    let said = if paused { PAUSED } else { RESUMED };
    Ok(back(id).saying(said))
}

pub async fn limits(view: View, fields: Fields) -> Result<Done, Problem> {
    let id: i64 = fields.number("id")?;
    let mut limits = Limits::of(&fields);
    let arguments = [
        Value::from(id),
        limits.number("slots")?,
        limits.number("rate")?,
        limits.interval("rate_per", "rate"),
        limits.number("burst")?,
        limits.number("priority")?,
        limits.number("max_failed")?,
        limits.cleared(),
    ];
    view.change(LIMIT, &arguments).await?;
    Ok(back(id).saying(LIMITS))
}

fn back(id: i64) -> Done {
    Done::at("/batch").with("id", id)
}
