//! Settings of gates (limits, rates, pauses), read from the tables of settings when a claim first meets the gate.

use crate::job::gates::{self, Settings};
use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::error::Result;
use crate::pg::relation::Opened;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::{Rows, Spi};
use crate::shmem;
use crate::sync::aging;
use pgrx::pg_sys;
use std::cell::Cell;
use std::collections::HashMap;
use turnstile_scheduler::{GateKind, GateSettings, LONG_AGO, LaneSpec, Limit, Rate, UnknownGate};

/// The columns of the views of settings: the gate, and what follows it.
const GATE: i32 = 1;
const FIRST_SETTING: i32 = 2;
/// Gates whose settings are read by one statement where a claim meets one unknown gate after the other, and where each claim does.
const AT_ONCE: usize = 1_000;
const AHEAD: usize = 64;
/// Slots of memory that are looked at for each of them.
const LOOKS: usize = 10;
/// Where a rate is given without a burst, starts are evenly spaced.
const DEFAULT_BURST: u32 = 1;
/// The weight of all jobs without a tenant together, and of a tenant for which no row says otherwise.
const DEFAULT_WEIGHT: u32 = 1;

thread_local! {
    /// How many others like it are read with the first unknown gate of a claim: the more, the more there were the last time.
    static LIKELY: Cell<usize> = const { Cell::new(1) };
}

/// What a claim reads of settings on its way.
#[derive(Default)]
pub struct SettingsReader {
    has_read: bool,
}

impl SettingsReader {
    /// Reads the missing settings of a lane; for a claim that goes from one unknown gate to the next, those of many of its
    /// like, too. They are stored only where the table has not changed since the version was noted: the snapshot is
    /// younger than that.
    pub fn read(
        &mut self,
        spi: &Spi,
        job_table: pg_sys::Oid,
        spec: &LaneSpec,
        gates: &[UnknownGate],
    ) -> Result<()> {
        let mut settings = Vec::with_capacity(gates.len());
        for gate in gates.iter().filter(|gate| gate.key != 0) {
            let mut wanted = vec![*gate];
            if gates::of(gate.kind).shares_defaults() {
                wanted.extend(match self.has_read {
                    true => its_like(job_table, gate, AT_ONCE)?,
                    false => likely_next(job_table, gate)?,
                });
            }
            settings.extend(read_those(spi, spec, gate.kind, wanted)?);
        }
        self.has_read = true;
        if settings.iter().any(|(_, settings)| settings.aging > 0) {
            aging::begin_calendar(spi, job_table)?;
        }
        shmem::with(job_table, |memory| {
            // What was read was in force until some time before this.
            memory.scheduler.advance(server::now())?;
            for (gate, settings) in &settings {
                memory.make_room(0);
                memory
                    .scheduler
                    .set_gate_settings(gate.kind, gate.key, gate.version, settings)?;
            }
            Ok(())
        })
    }
}

/// What the tables say of a gate, for who only looks.
pub fn of_gate(spi: &Spi, spec: &LaneSpec, kind: GateKind, key: u64) -> Result<GateSettings> {
    let gate = UnknownGate {
        kind,
        key,
        version: 0,
    };
    let read = read_those(spi, spec, kind, vec![gate])?;
    Ok(read
        .first()
        .map_or(default_settings(kind), |&(_, settings)| settings))
}

/// As [`of_gate`], in a trigger on a table of settings. None: this transaction has rewritten a table, which hides what is committed.
pub fn committed(
    spi: &Spi,
    spec: &LaneSpec,
    kind: GateKind,
    key: u64,
) -> Result<Option<GateSettings>> {
    let settings = gates::of(kind).settings.as_ref();
    for table in settings.into_iter().flat_map(Settings::tables) {
        let table = catalog::lock(table, pg_sys::AccessShareLock)?;
        if Opened::of(table).has_new_storage() {
            return Ok(None);
        }
    }
    of_gate(spi, spec, kind, key).map(Some)
}

/// Those that the next claims will ask for, where many are not known.
fn likely_next(job_table: pg_sys::Oid, gate: &UnknownGate) -> Result<Vec<UnknownGate>> {
    let most = LIKELY.get();
    let found = its_like(job_table, gate, most)?;
    LIKELY.set((2 * found.len()).clamp(1, AHEAD));
    Ok(found)
}

fn its_like(job_table: pg_sys::Oid, gate: &UnknownGate, most: usize) -> Result<Vec<UnknownGate>> {
    let mut found = vec![UnknownGate::default(); most];
    let looks = u32::try_from(most * LOOKS).unwrap_or(u32::MAX);
    let count = shmem::with(job_table, |memory| {
        memory
            .scheduler
            .unknown_gates_behind(gate.kind, gate.key, looks, &mut found)
    })?;
    found.truncate(count);
    Ok(found)
}

/// The settings in force for gates of a kind, of which the first is one of the lane.
fn read_those(
    spi: &Spi,
    spec: &LaneSpec,
    kind: GateKind,
    gates: Vec<UnknownGate>,
) -> Result<Vec<(UnknownGate, GateSettings)>> {
    let described = gates::of(kind);
    let Some(table) = &described.settings else {
        let default = default_settings(kind);
        return Ok(gates.into_iter().map(|gate| (gate, default)).collect());
    };
    let defaults = described.default_keys(spec);
    let own = gates.iter().map(|gate| gate.key);
    let keys: Vec<i64> = (own.chain(defaults.iter().copied()))
        .map(u64::cast_signed)
        .collect();
    let arguments = [datum(keys)];
    let mut found = HashMap::new();
    let mut note = |rows: &Rows| {
        for row in 0..rows.len() {
            let key: i64 = rows.required(row, GATE)?;
            found.insert(
                key.cast_unsigned(),
                settings_of_row(rows, row, FIRST_SETTING),
            );
        }
        Ok(())
    };
    match armed(Seeded::ReadOwnLimits) {
        true => note(&spi.run(table.statement, &arguments)?)?,
        false => spi.committed_rows(table.tables(), table.statement, &arguments, note)?,
    }
    let default = GateSettings {
        has_own_row: false,
        ..gates::first_found(&found, &defaults).unwrap_or(default_settings(kind))
    };
    let settings_of = |gate: &UnknownGate| match found.get(&gate.key) {
        Some(own) if !armed(Seeded::PreferDefaultRow) => *own,
        _ => default,
    };
    Ok(gates
        .into_iter()
        .map(|gate| (gate, settings_of(&gate)))
        .collect())
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
        rate_since: rows.value(row, column + 9).unwrap_or(LONG_AGO),
        paused_until: rows.value(row, column + 4),
        weight: number(column + 5).unwrap_or(DEFAULT_WEIGHT),
        is_fair: rows.value(row, column + 6).unwrap_or(false),
        aging: rows
            .value::<i64>(row, column + 7)
            .map_or(0, |interval| u32::try_from(interval).unwrap_or(u32::MAX)),
        has_own_row: true,
    }
}
