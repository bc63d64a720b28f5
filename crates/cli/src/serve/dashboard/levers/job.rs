//! Levers of one job.

use super::done::{ASKED, CANCELLED, DISCARDED, Done, PRIORITY, RETRIED};
use crate::listener::Problem;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const RETRY: &str = include_str!("sql/retry.sql");
const CANCEL: &str = include_str!("sql/cancel.sql");
const DISCARD: &str = include_str!("sql/discard.sql");
const REPRIORITIZE: &str = include_str!("sql/reprioritize.sql");

pub async fn retry(view: View, fields: Fields) -> Result<Done, Problem> {
    let id = fields.number("id")?;
    view.change(RETRY, &[Value::from(id)]).await?;
    Ok(back(id).saying(RETRIED))
}

pub async fn cancel(view: View, fields: Fields) -> Result<Done, Problem> {
    let id = fields.number("id")?;
    let states: Vec<String> = view.run(CANCEL, &[Value::from(id)]).await?;
    let is_asked = states.iter().any(|state| state == "running");
    Ok(back(id).saying(if is_asked { ASKED } else { CANCELLED }))
}

pub async fn discard(view: View, fields: Fields) -> Result<Done, Problem> {
    let id = fields.number("id")?;
    view.change(DISCARD, &[Value::from(id)]).await?;
    Ok(back(id).saying(DISCARDED))
}

pub async fn reprioritize(view: View, fields: Fields) -> Result<Done, Problem> {
    let id = fields.number("id")?;
    let priority: i32 = fields.number("priority")?;
    view.change(REPRIORITIZE, &[Value::from(id), Value::from(priority)])
        .await?;
    Ok(back(id).saying(PRIORITY))
}

fn back(id: i64) -> Done {
    Done::at("/job").with("id", id)
}
