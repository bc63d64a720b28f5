//! What changed settings, and a truncated table, mean to the scheduler. The transaction's end passes it on.

use crate::job::gates::{self, DEFAULT_ROW, Descriptor, Settings};
use crate::permission;
use crate::pg::call::Call;
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::trigger::{Moment, Trigger};
use crate::shmem::BOUNDED_KINDS as BOUNDED;
use crate::transaction::pending;
use pgrx::pg_sys::Datum;
use turnstile_scheduler::GateKind;

/// The call of a trigger on a table of settings, which the trigger's argument names, and what is known of that.
pub fn trigger_on_settings(
    call: &Call,
    moment: Moment,
) -> Result<(Trigger<'_>, &'static Descriptor, &'static Settings)> {
    let named = |argument: &str| {
        let mut all = gates::with_settings();
        let found = all.find(|(_, settings)| settings.argument == argument);
        found.map(|(gate, settings)| (settings.table, (gate, settings)))
    };
    let (trigger, (gate, settings)) = Trigger::of_argument(call, named, moment)?;
    Ok((trigger, gate, settings))
}

/// AFTER STATEMENT trigger for `TRUNCATE turnstile.job`.
pub fn job_truncated(call: &Call) -> Result<Option<Datum>> {
    let table = Trigger::of(call, c"job", Moment::Truncated)?.table();
    pending::note(table, |level| {
        level.rebuild = !armed(Seeded::IgnoreTruncate)
    });
    Ok(Trigger::NOTHING)
}

/// AFTER ROW trigger on the tables of settings: the gate of the old and the new row is read again.
pub fn setting_changed(call: &Call) -> Result<Option<Datum>> {
    let (trigger, gate, settings) = trigger_on_settings(call, Moment::RowAfter)?;
    permission::setting_changed(&trigger)?;
    let keys = trigger.gate_keys()?;
    let names = match settings.has_defaults {
        true => trigger.names(settings.name)?,
        false => Vec::new(),
    };
    let is_default = names.iter().any(|name| name == DEFAULT_ROW);
    let bounds = BOUNDED.contains(&gate.kind) && trigger.changes(c"max_waiting")?;
    let job_table = catalog::job_table()?;
    if armed(Seeded::IgnoreSetting) {
        return Ok(Trigger::NOTHING);
    }
    pending::note(job_table, |level| {
        level.bounds |= bounds;
        if gate.kind == GateKind::Batch {
            level
                .follow_ups
                .extend(keys.iter().map(|key| key.cast_signed()));
        }
        level
            .settings
            .extend(keys.into_iter().map(|key| (gate.kind, key)));
        if is_default && !armed(Seeded::IgnoreDefaultRow) {
            level.defaults.push(gate.kind);
        }
    });
    Ok(Trigger::NOTHING)
}

/// AFTER STATEMENT trigger on `turnstile.route`.
pub fn routes_changed(call: &Call) -> Result<Option<Datum>> {
    Trigger::of(call, c"route", Moment::StatementAfter)?;
    permission::route_changed()?;
    pending::note(catalog::job_table()?, |level| level.routes = true);
    Ok(Trigger::NOTHING)
}

/// AFTER STATEMENT trigger for `TRUNCATE` of a table of settings.
pub fn settings_truncated(call: &Call) -> Result<Option<Datum>> {
    let (_, gate, _) = trigger_on_settings(call, Moment::Truncated)?;
    pending::note(catalog::job_table()?, |level| {
        level.bounds |= BOUNDED.contains(&gate.kind);
        level.defaults.push(gate.kind);
    });
    Ok(Trigger::NOTHING)
}
