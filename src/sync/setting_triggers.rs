//! What changed settings, and a truncated table, mean to the scheduler. The transaction's end passes it on.

use crate::job::lane::DEFAULT_ROW;
use crate::permission;
use crate::pg::call::Call;
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::trigger::{Moment, Trigger};
use crate::shmem::KINDS as BOUNDED;
use crate::transaction::pending;
use pgrx::pg_sys::Datum;
use std::ffi::CStr;
use turnstile_scheduler::GateKind;

/// The tables of settings, by the argument of their triggers.
pub const SETTINGS: [(&str, &CStr, GateKind); 5] = [
    ("queue", c"queue", GateKind::Queue),
    ("tenant", c"tenant", GateKind::Tenant),
    ("account", c"account", GateKind::Account),
    ("concurrency", c"concurrency", GateKind::Concurrency),
    ("session", c"paused_session", GateKind::Session),
];

/// AFTER STATEMENT trigger for `TRUNCATE turnstile.job`.
pub fn job_truncated(call: &Call) -> Result<Option<Datum>> {
    let table = Trigger::of(call, c"job", Moment::Truncated)?.table();
    pending::with(|pending| pending.job_table = table);
    pending::at_current_level(|level| level.rebuild = !armed(Seeded::IgnoreTruncate));
    Ok(Trigger::NOTHING)
}

/// AFTER ROW trigger on the tables of settings: the gate of the old and the new row is read again.
pub fn setting_changed(call: &Call) -> Result<Option<Datum>> {
    let (trigger, kind) = Trigger::of_argument(call, &SETTINGS, Moment::RowAfter)?;
    permission::setting_changed(&trigger)?;
    let keys = trigger.gate_keys()?;
    let is_default = touches_default_row(&trigger)?;
    let bounds = BOUNDED.contains(&kind) && trigger.changes(c"max_waiting")?;
    let table = catalog::job_table()?;
    pending::with(|pending| pending.job_table = table);
    if armed(Seeded::IgnoreSetting) {
        return Ok(Trigger::NOTHING);
    }
    pending::at_current_level(|level| {
        level.bounds |= bounds;
        level
            .settings
            .extend(keys.into_iter().map(|key| (kind, key)));
        if is_default && !armed(Seeded::IgnoreDefaultRow) {
            level.defaults.push(kind);
        }
    });
    Ok(Trigger::NOTHING)
}

/// AFTER STATEMENT trigger on `turnstile.route`.
pub fn routes_changed(call: &Call) -> Result<Option<Datum>> {
    Trigger::of(call, c"route", Moment::StatementAfter)?;
    permission::route_changed()?;
    let table = catalog::job_table()?;
    pending::with(|pending| pending.job_table = table);
    pending::at_current_level(|level| level.routes = true);
    Ok(Trigger::NOTHING)
}

/// AFTER STATEMENT trigger for `TRUNCATE` of a table of settings.
pub fn settings_truncated(call: &Call) -> Result<Option<Datum>> {
    let (_, kind) = Trigger::of_argument(call, &SETTINGS, Moment::Truncated)?;
    let table = catalog::job_table()?;
    pending::with(|pending| pending.job_table = table);
    pending::at_current_level(|level| {
        level.bounds |= BOUNDED.contains(&kind);
        level.defaults.push(kind);
    });
    Ok(Trigger::NOTHING)
}

/// Whether the old or the new row is a default row.
fn touches_default_row(trigger: &Trigger) -> Result<bool> {
    let name = match trigger.argument() {
        Some("session") => return Ok(false),
        Some("concurrency") => c"key",
        _ => c"name",
    };
    let names = trigger.names(name)?;
    Ok(names.iter().any(|name| name == DEFAULT_ROW))
}
