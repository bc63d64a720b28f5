//! Memory compared with the tables. Others wait only while memory is copied.
//!
//! The scheduler is copied ([`check_memory`]) and a snapshot is taken at one moment under its lock. A transaction that is just then
//! between becoming visible and its commit callback shows as a difference that does not exist; so only differences
//! that several passes find alike are reported.

use crate::job::gates::{self, Descriptor};
use crate::job::tables;
use crate::pg::call::datum;
use crate::pg::error::{Result, internal, notice};
use crate::pg::server;
use crate::pg::snapshot::{Snapshot, next_transaction_id};
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::sync::check_memory::{self, Gate, MemoryState};
use crate::sync::check_tables;
use crate::sync::difference::Difference;
use crate::sync::gate_settings::{default_settings, settings_of_row};
use crate::sync::rebuild::when_ready;
use crate::sync::scan::{scan_available, scan_running};
use crate::table;
use crate::table::figures::visit_figures;
use pgrx::pg_sys;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use turnstile_scheduler::figures::{Id, KINDS, STATES};
use turnstile_scheduler::{GateKind, GateSettings, LONG_AGO, LaneSpec, Limit};

static SETTINGS: Statement = statement!("gate_settings", []);
static BELOW_HEAD: Statement = statement!("check_lane", [INT8OID, INT8OID, INT8OID, INT8OID]);

const PASSES: usize = 6;
const BETWEEN_PASSES: Duration = Duration::from_millis(20);
const HALF_TOLD_FOR: i64 = 10 * server::SECOND;
const BATCH: i64 = 10_000;

/// What the tables say at the same moment.
#[derive(Default)]
struct Truth {
    /// By its key, a lane, its first position and its names.
    lanes: HashMap<u64, (LaneSpec, i64, String)>,
    running: HashMap<Gate, (i64, String)>,
    settings: HashMap<Gate, GateSettings>,
}

/// Lists every difference that persists.
pub fn run(spi: &Spi, job_table: pg_sys::Oid) -> Result<Vec<Difference>> {
    let mut differences = pass(spi, job_table)?;
    for _ in 1..PASSES {
        if differences.is_empty() {
            break;
        }
        std::thread::sleep(BETWEEN_PASSES);
        pgrx::check_for_interrupts!();
        let again: HashSet<Difference> = pass(spi, job_table)?.into_iter().collect();
        differences.retain(|difference| again.contains(difference));
    }
    Ok(differences)
}

/// Says why jobs are not changed directly, if they are not.
pub fn tell_path() -> Result<()> {
    let jobs = table::lock_jobs(pg_sys::AccessShareLock)?;
    if let Some(reason) = table::why_not_direct(&jobs, server::now())? {
        notice(format!("the direct path is not in use: {reason}"));
    }
    Ok(())
}

/// A transaction that has changed very many lanes takes longer than all passes.
fn await_half_told(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    let give_up = server::now().saturating_add(HALF_TOLD_FOR);
    while when_ready(spi, job_table, |memory| Ok(memory.state.half_told))? > 0
        && server::now() < give_up
    {
        std::thread::sleep(BETWEEN_PASSES);
        pgrx::check_for_interrupts!();
    }
    Ok(())
}

fn pass(spi: &Spi, job_table: pg_sys::Oid) -> Result<Vec<Difference>> {
    await_half_told(spi, job_table)?;
    tables::lock(job_table)?;
    let (memory, snapshot) = check_memory::read(spi, job_table)?;
    let truth = read_truth(spi, &snapshot)?;
    let mut differences = Vec::new();
    if let Some(what) = memory.broken {
        differences.push(Difference {
            problem: "the scheduler's structure is damaged",
            detail: what.into(),
        });
    }
    compare_lanes(spi, &snapshot, &memory, &truth, &mut differences)?;
    compare_held(&memory, &truth, &mut differences);
    compare_settings(&memory, &truth, &mut differences);
    memory.times.compare(spi, &snapshot, &mut differences)?;
    compare_numbers(spi, job_table, &snapshot, &memory, &mut differences)?;
    check_tables::compare(spi, &snapshot, &mut differences)?;
    Ok(differences)
}

fn read_truth(spi: &Spi, snapshot: &Snapshot) -> Result<Truth> {
    let mut truth = Truth::default();
    scan_available(spi, snapshot, &mut |spec, position, label| {
        truth.lanes.insert(spec.lane, (*spec, position, label()));
        Ok(())
    })?;
    scan_running(spi, snapshot, &mut |spec, count, label| {
        for gate in spec.gates() {
            let entry = truth.running.entry(gate).or_insert_with(|| (0, label()));
            entry.0 += count;
        }
        Ok(())
    })?;
    spi.scan(&SETTINGS, &[], snapshot, BATCH, |rows| {
        for row in 0..rows.len() {
            let gate = gate_of_row(rows, row)?;
            truth.settings.insert(gate, settings_of_row(rows, row, 3));
        }
        Ok(())
    })?;
    Ok(truth)
}

fn gate_of_row(rows: &Rows, row: usize) -> Result<Gate> {
    let number: i32 = rows.required(row, 1)?;
    let mut known = gates::all().filter(|gate| i32::from(gate.number) == number);
    let kind = known.next().map(|gate| gate.kind).ok_or_else(|| {
        internal("a gate is of an unknown kind").detail(format!("Its number is {number}."))
    })?;
    let key: i64 = rows.required(row, 2)?;
    Ok((kind, key.cast_unsigned()))
}

/// Rule 2: no available job lies before its lane's head, but those that open claims have locked.
fn compare_lanes(
    spi: &Spi,
    snapshot: &Snapshot,
    memory: &MemoryState,
    truth: &Truth,
    differences: &mut Vec<Difference>,
) -> Result<()> {
    for (&lane, (spec, position, label)) in &truth.lanes {
        let head = memory.heads.get(&lane).copied();
        if head.is_some_and(|head| head <= *position)
            || (head.is_none() && memory.outside.has(spec))
        {
            continue;
        }
        let end = head.unwrap_or(i64::MAX);
        let next = datum(next_transaction_id().cast_signed());
        let [group, key] = [spec.group(), lane].map(|key| datum(key.cast_signed()));
        let bounds = [group, key, datum(end), next];
        let mut unseen = None;
        spi.scan(&BELOW_HEAD, &bounds, snapshot, BATCH, |rows| {
            let mut positions = (0..rows.len()).filter_map(|row| rows.value::<i64>(row, 1));
            unseen = unseen.or(positions.find(|&at| !memory.in_flight.contains(&(lane, at))));
            Ok(())
        })?;
        if let Some(position) = unseen {
            differences.push(Difference {
                problem: match head {
                    Some(_) => "a lane's head is behind an available job",
                    None => "a lane with available jobs is missing",
                },
                detail: format!("{label}: position {position}, head {head:?}"),
            });
        }
    }
    Ok(())
}

/// Rule 3: a gate holds what runs behind it and what open transactions have reserved.
fn compare_held(memory: &MemoryState, truth: &Truth, differences: &mut Vec<Difference>) {
    let gates: HashSet<Gate> = memory
        .gates
        .keys()
        .chain(truth.running.keys())
        .copied()
        .collect();
    for gate in gates {
        let held = memory.gates.get(&gate).map_or(0, |&(held, _)| held);
        let running = truth.running.get(&gate).map_or(0, |&(count, _)| count);
        if held != running {
            let label = truth.running.get(&gate).map_or("", |(_, label)| label);
            differences.push(Difference {
                problem: "a gate does not hold what runs behind it",
                detail: format!(
                    "{:?} gate {:x} ({label}) holds {} more than run",
                    gate.0,
                    gate.1,
                    held - running
                ),
            });
        }
    }
}

fn compare_settings(memory: &MemoryState, truth: &Truth, differences: &mut Vec<Difference>) {
    for (&(kind, key), &(_, settings)) in &memory.gates {
        let described = gates::of(kind);
        let row = truth.settings.get(&(kind, key));
        let expected = match row.or_else(|| default_row(described, truth)) {
            Some(&settings) => settings,
            // Which default row holds depends on the name of what it is scoped to.
            None if described.has_defaults() && !described.scope.is_empty() => continue,
            None => default_settings(kind),
        };
        if settings.limit != Limit::Unknown && lasting(settings) != lasting(expected) {
            differences.push(Difference {
                problem: "a gate has other settings than the tables",
                detail: format!("{kind:?} gate {key:x}: {settings:?} instead of {expected:?}"),
            });
        }
    }
}

/// The settings of all gates of a kind that have no row, if they are the same for all.
fn default_row<'t>(described: &Descriptor, truth: &'t Truth) -> Option<&'t GateSettings> {
    let keys = described.default_keys(&LaneSpec::default());
    let mut keys = keys.into_iter().filter(|_| described.scope.is_empty());
    keys.find_map(|key| truth.settings.get(&(described.kind, key)))
}

/// Without a pause that is over, and without what the bucket of a rate began with.
fn lasting(settings: GateSettings) -> GateSettings {
    let now = server::now();
    GateSettings {
        paused_until: settings.paused_until.filter(|&until| until > now),
        rate_since: LONG_AGO,
        has_own_row: true,
        ..settings
    }
}

/// Compares how many jobs of each name are in each state.
fn compare_numbers(
    spi: &Spi,
    job_table: pg_sys::Oid,
    snapshot: &Snapshot,
    memory: &MemoryState,
    differences: &mut Vec<Difference>,
) -> Result<()> {
    let Some(numbers) = &memory.numbers else {
        return Ok(());
    };
    if numbers.charged > 0 && snapshot.is_alone() {
        differences.push(Difference {
            problem: "a backlog has places taken by no transaction",
            detail: format!("{} places", numbers.charged),
        });
    }
    let mut balance: HashMap<Id, [i64; STATES]> = numbers.states.iter().copied().collect();
    visit_figures(spi, job_table, snapshot, &mut |lanes| {
        for (spec, jobs) in lanes {
            for kind in KINDS.into_iter().chain([GateKind::Batch]) {
                let name = Id {
                    kind,
                    key: spec.key_of(kind),
                };
                if name.key != 0 && numbers.whole.contains(&kind) {
                    balance.entry(name).or_default();
                }
                let balance = balance.get_mut(&name).into_iter().flatten();
                for (balance, jobs) in balance.zip(jobs.states) {
                    *balance -= i64::from(jobs);
                }
            }
        }
        Ok(())
    })?;
    for (Id { kind, key }, more) in balance {
        if more != [0; STATES] {
            differences.push(Difference {
                problem: "jobs are not as many as their number in memory says",
                detail: format!(
                    "{kind:?} {key:x}: {more:?} more are available, scheduled, retryable, running, blocked than there are"
                ),
            });
        }
    }
    Ok(())
}
