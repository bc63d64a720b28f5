//! Levers of a tenant.

use super::limits::{Limits, pause as duration};
use super::{Done, LIMITS, PAUSED, RESUMED};
use crate::listener::Problem;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const PAUSE: &str = include_str!("sql/pause_tenant.sql");
const RESUME: &str = include_str!("sql/resume_tenant.sql");
const LIMIT: &str = include_str!("sql/limit_tenant.sql");

pub async fn pause(view: View, fields: Fields) -> Result<Done, Problem> {
    let arguments = [Value::from(fields.text("name")?), duration(&fields)?];
    view.change(PAUSE, &arguments).await?;
    Ok(back(&fields)?.saying(PAUSED))
}

pub async fn resume(view: View, fields: Fields) -> Result<Done, Problem> {
    view.change(RESUME, &[Value::from(fields.text("name")?)])
        .await?;
    Ok(back(&fields)?.saying(RESUMED))
}

pub async fn limits(view: View, fields: Fields) -> Result<Done, Problem> {
    let mut limits = Limits::of(&fields);
    let arguments = [
        Value::from(fields.text("name")?),
        limits.number("slots")?,
        limits.number("max_waiting")?,
        limits.number("weight")?,
        limits.number("rate")?,
        limits.interval("rate_per", "rate"),
        limits.number("burst")?,
        limits.cleared(),
    ];
    view.change(LIMIT, &arguments).await?;
    Ok(back(&fields)?.saying(LIMITS))
}

fn back(fields: &Fields) -> Result<Done, Problem> {
    Ok(Done::at("/tenant").with("name", fields.text("name")?))
}
