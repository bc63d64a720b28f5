//! Plain DML, checked by the triggers with the role that runs it.

use super::denied::{denied, denied_row};
use super::restricted::{Restricted, operate};
use super::verb::Verb;
use crate::job::lane::EVERY_QUEUE;
use crate::pg::call::Call;
use crate::pg::error::Result;
use crate::pg::trigger::{Moment, Trigger};
use crate::pg::tuple::RawRow;
use crate::pg::{catalog, rights};
use crate::transaction::pending;
use pgrx::pg_sys::Datum;

/// AFTER STATEMENT trigger on `turnstile.permission`: permissions are kept like routes, so what makes routes be read
/// again serves.
pub fn permissions_changed(call: &Call) -> Result<Option<Datum>> {
    Trigger::of(call, c"permission", Moment::StatementAfter)?;
    pending::note(catalog::job_table()?, |level| level.routes = true);
    Ok(Trigger::NOTHING)
}

/// Whether the role that changes a job by plain DML may do so. INSERT needs `enqueue`; UPDATE and DELETE need
/// `manage` on the job, as it was and as it becomes. Calls of the extension have checked before.
pub fn job_changed(old: Option<&RawRow>, new: Option<&RawRow>) -> Result<()> {
    if rights::is_own_change() {
        return Ok(());
    }
    let role = rights::current_user();
    let verb = match old {
        None => Verb::Enqueue,
        Some(_) => Verb::Manage,
    };
    let Some(caller) = Restricted::of(role, verb)? else {
        return Ok(());
    };
    let mut rows = old.into_iter().chain(new);
    match rows.all(|row| caller.allows_row(row)) {
        true => Ok(()),
        false => Err(denied_row(role, verb)),
    }
}

/// Whether the role that changes a row of settings may do so: a row of a queue needs `manage` on it for all tenants,
/// any other row on everything.
pub fn setting_changed(trigger: &Trigger) -> Result<()> {
    if rights::is_own_change() {
        return Ok(());
    }
    let role = rights::current_user();
    let Some(caller) = Restricted::of(role, Verb::Manage)? else {
        return Ok(());
    };
    let is_of_queue = trigger.argument() == Some("queue");
    let queues = match is_of_queue {
        true => trigger.names(c"name")?,
        false => vec![EVERY_QUEUE.into()],
    };
    match (queues.iter()).find(|queue| !caller.allows(queue, Some(EVERY_QUEUE))) {
        Some(queue) => Err(denied(role, Verb::Manage, queue, Some(EVERY_QUEUE))),
        None => Ok(()),
    }
}

/// The same of routes, endpoints and retry curves, which concern everything.
pub fn route_changed() -> Result<()> {
    match rights::is_own_change() {
        true => Ok(()),
        false => operate(),
    }
}
