//! Settings of gates (limits, rates, pauses), read from the tables of settings when a claim first meets the gate.

use crate::job::lane::{DEFAULT_ROW, account_key, concurrency_key, number, queue_key, tenant_key};
use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem;
use crate::sync::aging;
use pgrx::pg_sys;
use turnstile_scheduler::{GateKind, GateSettings, LaneSpec, Limit, Rate, UnknownGate};

static SETTING: Statement = statement!("gate_setting", [INT8ARRAYOID, INT4OID]);

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

fn read_one(spi: &Spi, spec: &LaneSpec, gate: &UnknownGate) -> Result<GateSettings> {
    let (table, gates) = match gate.kind {
        GateKind::Queue => (c"queue", vec![gate.key, queue_key(DEFAULT_ROW)]),
        GateKind::Tenant => (c"tenant", vec![gate.key, tenant_key(DEFAULT_ROW)]),
        GateKind::Account => (
            c"account",
            vec![
                gate.key,
                account_key(spec.tenant, DEFAULT_ROW),
                account_key(tenant_key(DEFAULT_ROW), DEFAULT_ROW),
            ],
        ),
        GateKind::Concurrency => (c"concurrency", vec![gate.key, concurrency_key(DEFAULT_ROW)]),
        GateKind::Session => (c"paused_session", vec![gate.key]),
        GateKind::Unique => return Ok(default_settings(gate.kind)),
    };
    let gates: Vec<i64> = gates.into_iter().map(u64::cast_signed).collect();
    let arguments = [datum(gates), datum(i32::from(number(gate.kind)))];
    let settings = match armed(Seeded::ReadOwnLimits) {
        true => {
            let rows = spi.run(&SETTING, &arguments)?;
            (rows.len() > 0).then(|| settings_of_row(&rows, 0, 1))
        }
        false => spi.committed_row(table, &SETTING, &arguments, |rows| {
            settings_of_row(rows, 0, 1)
        })?,
    };
    Ok(settings.unwrap_or(default_settings(gate.kind)))
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
    }
}
