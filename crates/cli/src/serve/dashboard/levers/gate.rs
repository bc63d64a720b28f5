//! Levers of what can be paused and has limits: queues, tenants, accounts and concurrency keys. They differ by their statements, by the fields
//! that name them, and by the pages that they lead to.

use super::done::{Done, LIMITS, PAUSED, RESUMED};
use super::limits::{Limits, pause as duration};
use crate::listener::Problem;
use crate::serve::dashboard::fields::Fields;
use crate::serve::dashboard::value::Value;
use crate::serve::dashboard::view::View;

pub struct Gate {
    /// The fields that say which one it is, and the first arguments of each statement.
    names: &'static [&'static str],
    pause: &'static str,
    resume: &'static str,
    limit: &'static str,
    /// What `limit` takes behind the names, and before the rate.
    columns: &'static [&'static str],
    page: &'static str,
    /// The parameters of the page, one for each name.
    parameters: &'static [&'static str],
}

pub static QUEUE: Gate = Gate {
    names: &["name"],
    pause: include_str!("sql/pause_queue.sql"),
    resume: include_str!("sql/resume_queue.sql"),
    limit: include_str!("sql/limit_queue.sql"),
    columns: &["max_running", "max_waiting"],
    page: "/queue",
    parameters: &["name"],
};

pub static TENANT: Gate = Gate {
    names: &["name"],
    pause: include_str!("sql/pause_tenant.sql"),
    resume: include_str!("sql/resume_tenant.sql"),
    limit: include_str!("sql/limit_tenant.sql"),
    columns: &["slots", "max_waiting", "weight"],
    page: "/tenant",
    parameters: &["name"],
};

pub static ACCOUNT: Gate = Gate {
    names: &["tenant", "account"],
    pause: include_str!("sql/pause_account.sql"),
    resume: include_str!("sql/resume_account.sql"),
    limit: include_str!("sql/limit_account.sql"),
    columns: &["slots"],
    page: "/tenant",
    parameters: &["name", "account"],
};

pub static KEY: Gate = Gate {
    names: &["key"],
    pause: include_str!("sql/pause_key.sql"),
    resume: include_str!("sql/resume_key.sql"),
    limit: include_str!("sql/limit_key.sql"),
    columns: &["slots"],
    page: "/keys",
    parameters: &["name"],
};

pub async fn pause(gate: &Gate, view: View, fields: Fields) -> Result<Done, Problem> {
    let mut arguments = gate.named(&fields)?;
    arguments.push(duration(&fields)?);
    view.change(gate.pause, &arguments).await?;
    Ok(gate.back(&fields)?.saying(PAUSED))
}

pub async fn resume(gate: &Gate, view: View, fields: Fields) -> Result<Done, Problem> {
    view.change(gate.resume, &gate.named(&fields)?).await?;
    Ok(gate.back(&fields)?.saying(RESUMED))
}

pub async fn limits(gate: &Gate, view: View, fields: Fields) -> Result<Done, Problem> {
    let mut limits = Limits::of(&fields);
    let mut arguments = gate.named(&fields)?;
    for column in gate.columns {
        arguments.push(limits.number(column)?);
    }
    arguments.extend([
        limits.number("rate")?,
        limits.interval("rate_per", "rate"),
        limits.number("burst")?,
    ]);
    arguments.push(limits.cleared());
    view.change(gate.limit, &arguments).await?;
    Ok(gate.back(&fields)?.saying(LIMITS))
}

impl Gate {
    fn named(&self, fields: &Fields) -> Result<Vec<Value>, Problem> {
        let names = self.names.iter();
        names
            .map(|name| Ok(Value::from(fields.text(name)?)))
            .collect()
    }

    fn back(&self, fields: &Fields) -> Result<Done, Problem> {
        let mut names = self.parameters.iter().zip(self.names);
        names.try_fold(Done::at(self.page), |done, (parameter, name)| {
            Ok(done.with(parameter, fields.text(name)?))
        })
    }
}
