//! Settings of gates (limits, rates, pauses), read from the tables of settings when a claim first meets the gate.

use crate::job::gates;
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Rows, Spi};
use crate::shmem;
use crate::sync::aging;
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, GateSettings, LaneSpec, Limit, Rate, UnknownGate};

/// The columns of the views of settings: the gate, and what follows it.
const GATE: i32 = 1;
const FIRST_SETTING: i32 = 2;
/// Where a rate is given without a burst, starts are evenly spaced.
const DEFAULT_BURST: u32 = 1;
/// The weight of all jobs without a tenant together, and of a tenant for which no row says otherwise.
const DEFAULT_WEIGHT: u32 = 1;

/// Reads the missing settings of a lane. They are stored only where the table has not changed since the
/// pick noted the version: the snapshot is younger than that.
pub fn read(
    spi: &Spi,
    job_table: pg_sys::Oid,
    spec: &LaneSpec,
    gates: &[UnknownGate],
) -> Result<()> {
    let mut settings = Vec::with_capacity(gates.len());
    for gate in gates.iter().filter(|gate| gate.key != 0) {
        settings.push((*gate, read_one(spi, spec, gate)?));
    }
    if settings.iter().any(|(_, settings)| settings.aging > 0) {
        aging::begin_calendar(spi, job_table)?;
    }
    shmem::with(job_table, |memory| {
        for (gate, settings) in &settings {
            memory
                .scheduler
                .set_gate_settings(gate.kind, gate.key, gate.version, settings)?;
        }
        Ok(())
    })
}

/// What the tables say of a gate, for who only looks.
pub fn of_gate(spi: &Spi, spec: &LaneSpec, kind: GateKind, key: u64) -> Result<GateSettings> {
    let gate = UnknownGate {
        kind,
        key,
        version: 0,
    };
    read_one(spi, spec, &gate)
}

fn read_one(spi: &Spi, spec: &LaneSpec, gate: &UnknownGate) -> Result<GateSettings> {
    let described = gates::of(gate.kind);
    let Some(table) = &described.settings else {
        return Ok(default_settings(gate.kind));
    };
    let defaults = described.default_keys(spec);
    let keys = std::iter::once(gate.key).chain(defaults);
    let arguments = [datum(keys.map(u64::cast_signed).collect::<Vec<i64>>())];
    let settings = match armed(Seeded::ReadOwnLimits) {
        true => {
            let rows = spi.run(table.statement, &arguments)?;
            (rows.len() > 0).then(|| settings_in_force(&rows, gate))
        }
        false => spi.committed_row(table.table, table.statement, &arguments, |rows| {
            settings_in_force(rows, gate)
        })?,
    };
    Ok(settings.unwrap_or(GateSettings {
        has_own_row: false,
        ..default_settings(gate.kind)
    }))
}

/// What the row says that was read for a gate, and whether it is the gate's own.
fn settings_in_force(rows: &Rows, gate: &UnknownGate) -> GateSettings {
    GateSettings {
        has_own_row: rows.value::<i64>(0, GATE) == Some(gate.key.cast_signed()),
        ..settings_of_row(rows, 0, FIRST_SETTING)
    }
}

/// The settings of a gate without any row of settings.
pub fn default_settings(kind: GateKind) -> GateSettings {
    kind.fixed_limit().unwrap_or(Limit::None).into()
}

/// The settings that begin at a column.
pub fn settings_of_row(rows: &Rows, row: usize, column: i32) -> GateSettings {
    let number = |column| {
        let number = rows.value::<i32>(row, column);
        number.map(|number| u32::try_from(number).unwrap_or(0))
    };
    let rate = number(column + 1).map(|starts| Rate {
        starts,
        per: rows.value(row, column + 2).unwrap_or(0),
        burst: number(column + 3).unwrap_or(DEFAULT_BURST),
    });
    GateSettings {
        limit: number(column).map_or(Limit::None, Limit::AtMost),
        rate,
        paused_until: rows.value(row, column + 4),
        weight: number(column + 5).unwrap_or(DEFAULT_WEIGHT),
        is_fair: rows.value(row, column + 6).unwrap_or(false),
        aging: rows
            .value::<i64>(row, column + 7)
            .map_or(0, |interval| u32::try_from(interval).unwrap_or(u32::MAX)),
        has_own_row: true,
    }
}
