//! Levers of a session: all sessions are seen through their jobs.

use super::done::{Done, PAUSED, RESUMED};
use super::limits::pause as duration;
use crate::listener::Problem;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

const PAUSE: &str = include_str!("sql/pause_session.sql");
const RESUME: &str = include_str!("sql/resume_session.sql");

pub async fn pause(view: View, fields: Fields) -> Result<Done, Problem> {
    let [queue, tenant, session] = session(&fields)?;
    view.change(PAUSE, &[queue, tenant, session, duration(&fields)?])
        .await?;
    Ok(back(&fields)?.saying(PAUSED))
}

pub async fn resume(view: View, fields: Fields) -> Result<Done, Problem> {
    view.change(RESUME, &session(&fields)?).await?;
    Ok(back(&fields)?.saying(RESUMED))
}

/// A session without a tenant is one of jobs without one.
fn session(fields: &Fields) -> Result<[Value; 3], Problem> {
    Ok([
        Value::from(fields.text("queue")?),
        Value::from(fields.optional("tenant")),
        Value::from(fields.text("session")?),
    ])
}

/// The job through which it was seen.
fn back(fields: &Fields) -> Result<Done, Problem> {
    Ok(Done::at("/job").with("id", fields.number::<i64>("id")?))
}
