//! What changed settings, and a truncated table, mean to the scheduler. The transaction's end passes it on.

use crate::job::gates::{self, DEFAULT_ROW, Descriptor, More, Settings};
use crate::permission;
use crate::pg::call::Call;
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::trigger::{Moment, Trigger};
use crate::shmem::{self, BOUNDED_KINDS as BOUNDED};
use crate::sync::rate_since;
use crate::transaction::own::Begun;
use crate::transaction::pending;
use pgrx::pg_sys::Datum;
use std::ffi::CStr;
use turnstile_scheduler::GateKind;

/// A table of settings, as the argument of its triggers names it.
pub struct Source {
    pub gate: &'static Descriptor,
    pub settings: &'static Settings,
    /// It is not the one with the defaults.
    pub more: Option<&'static More>,
}

impl Source {
    fn named(argument: &str) -> Option<(&'static CStr, Self)> {
        gates::with_settings().find_map(|(gate, settings)| {
            let mut others = settings.more.iter();
            let more = others.find(|more| more.argument == argument);
            let table = match more {
                Some(more) => more.table,
                None if settings.argument == argument => settings.table,
                None => return None,
            };
            let source = Self {
                gate,
                settings,
                more,
            };
            Some((table, source))
        })
    }

    /// The gates of the old and the new row, and whether one of them holds for others.
    fn changed(&self, trigger: &Trigger) -> Result<(Vec<u64>, bool)> {
        if let Some(more) = self.more {
            let names = trigger.names(more.name)?;
            let keys = names.iter().map(|name| self.gate.key_anywhere(name));
            return Ok((keys.collect(), false));
        }
        let names = match self.settings.has_defaults {
            true => trigger.names(self.settings.name)?,
            false => Vec::new(),
        };
        let is_default = names.iter().any(|name| name == DEFAULT_ROW);
        Ok((trigger.gate_keys()?, is_default))
    }
}

/// The call of a trigger on a table of settings, which the trigger's argument names, and what is known of that.
pub fn trigger_on_settings(call: &Call, moment: Moment) -> Result<(Trigger<'_>, Source)> {
    Trigger::of_argument(call, Source::named, moment)
}

/// AFTER STATEMENT trigger for `TRUNCATE turnstile.job`.
pub fn job_truncated(call: &Call) -> Result<Option<Datum>> {
    let table = Trigger::of(call, c"job", Moment::Truncated)?.table();
    let gone = pending::with(|pending| pending.all_begun());
    pending::note(table, |level| {
        level.rebuild = !armed(Seeded::IgnoreTruncate);
        let gone = gone.into_iter().map(|id| (id, Begun::default()));
        level.own.begun.extend(gone);
    });
    Ok(Trigger::NOTHING)
}

/// AFTER ROW trigger on the tables of settings: the gate of the old and the new row is read again.
pub fn setting_changed(call: &Call) -> Result<Option<Datum>> {
    let (trigger, source) = trigger_on_settings(call, Moment::RowAfter)?;
    permission::setting_changed(&trigger)?;
    let gate = source.gate;
    let (keys, is_default) = source.changed(&trigger)?;
    let bounds = BOUNDED.contains(&gate.kind) && trigger.changes(c"max_waiting")?;
    let lost_rate = rate_since::lost(&trigger)?;
    let job_table = catalog::job_table()?;
    if armed(Seeded::IgnoreSetting) {
        return Ok(Trigger::NOTHING);
    }
    pending::note(job_table, |level| {
        level.bounds |= bounds;
        if let Some((key, since)) = lost_rate
            && !armed(Seeded::MissLostRate)
        {
            level.lose_rate(gate.kind, key.filter(|_| !is_default), since);
        }
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
    forget_routes(call, c"route")
}

/// AFTER STATEMENT trigger on `turnstile.endpoint`: its keys are kept with the routes.
pub fn endpoints_changed(call: &Call) -> Result<Option<Datum>> {
    forget_routes(call, c"endpoint")
}

/// AFTER STATEMENT trigger on `turnstile.recurring`.
pub fn recurring_changed(call: &Call) -> Result<Option<Datum>> {
    Trigger::of(call, c"recurring", Moment::StatementAfter)?;
    let job_table = catalog::job_table()?;
    shmem::provide(job_table);
    pending::note(job_table, |level| level.recurring = true);
    Ok(Trigger::NOTHING)
}

/// AFTER STATEMENT trigger on `turnstile.retry_curve`, which is read by each failure.
pub fn retry_curves_changed(call: &Call) -> Result<Option<Datum>> {
    Trigger::of(call, c"retry_curve", Moment::StatementAfter)?;
    permission::route_changed()?;
    Ok(Trigger::NOTHING)
}

fn forget_routes(call: &Call, table: &'static CStr) -> Result<Option<Datum>> {
    Trigger::of(call, table, Moment::StatementAfter)?;
    permission::route_changed()?;
    pending::note(catalog::job_table()?, |level| level.routes = true);
    Ok(Trigger::NOTHING)
}

/// AFTER STATEMENT trigger for `TRUNCATE` of a table of settings.
pub fn settings_truncated(call: &Call) -> Result<Option<Datum>> {
    let (_, Source { gate, .. }) = trigger_on_settings(call, Moment::Truncated)?;
    pending::note(catalog::job_table()?, |level| {
        level.bounds |= BOUNDED.contains(&gate.kind);
        level.defaults.push(gate.kind);
    });
    Ok(Trigger::NOTHING)
}
