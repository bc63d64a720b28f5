//! Since when a rate is in force for a name: its bucket was full then, as none was in force before. What decides is what is committed for
//! the name, by whatever row: a rate that only comes from another row than before does not begin.
//!
//! The tables keep the time, as memory may meet the name only later. What they lose when a row goes, memory makes up for: it knows until
//! when a rate was certainly in force.

use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::rights::Owner;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::with_spi;
use crate::pg::trigger::{RowRate, Trigger};
use crate::shmem;
use crate::sync::gate_settings;
use turnstile_scheduler::{GateKind, LONG_AGO, LaneSpec};

/// What `rate_since` is to become in the new row, which is the one of this gate. None: it stays. A time that is written, as a restore
/// does, is kept.
pub fn after(
    trigger: &Trigger,
    kind: GateKind,
    scope: &LaneSpec,
    key: u64,
) -> Result<Option<Option<i64>>> {
    let Some((old, Some(new))) = trigger.rates()? else {
        return Ok(None);
    };
    if new.since != old.and_then(|old| old.since) {
        return Ok(None);
    }
    let same_name = old.filter(|old| old.gate == Some(key));
    let had_rate = same_name.as_ref().is_some_and(RowRate::is_some);
    let had_none = same_name.is_some_and(|old| old.rate.is_some() && !old.is_some());
    let inherits_again = had_none && new.rate.is_none();
    if inherits_again || new.is_some() && !had_rate {
        return in_force_since(kind, scope, key).map(Some);
    }
    let is_renamed = old.is_some() && same_name.is_none();
    Ok(is_renamed.then_some(None))
}

/// Since when the rate of a name is in force that is committed; now, if there is none. None: that is not known.
fn in_force_since(kind: GateKind, scope: &LaneSpec, key: u64) -> Result<Option<i64>> {
    // Memory that is there by now has all starts on record. Without memory the rate begins without tokens, when there is some.
    let _ = shmem::with(catalog::job_table()?, |memory| {
        memory.scheduler.advance(server::now())
    });
    // Before the snapshot, so that what it sees holds at some time after that.
    let now = server::now();
    let committed = Owner::of_jobs()?
        .run(|| with_spi(|spi| gate_settings::committed(spi, scope, kind, key)))?;
    Ok(match committed {
        _ if armed(Seeded::BeginEachRate) => Some(now),
        None => None,
        Some(settings) if settings.rate.is_none() => Some(now),
        Some(settings) => Some(settings.rate_since).filter(|&since| since != LONG_AGO),
    })
}

/// Since when a rate was in force by this row that it has no more, for the same name.
pub fn lost(trigger: &Trigger) -> Result<Option<(Option<u64>, i64)>> {
    let Some((Some(old), new)) = trigger.rates()? else {
        return Ok(None);
    };
    let stays = new.is_some_and(|new| new.is_some() && new.gate == old.gate);
    let lost = old.is_some() && !stays;
    Ok(lost.then_some((old.gate, old.since.unwrap_or(LONG_AGO))))
}
