//! `heartbeat_many`: signs of life of many runs. One whose job another transaction has locked keeps none of the others waiting: their leases
//! would end meanwhile, and they would be run again.

use crate::api::arguments::check_lease;
use crate::api::work::many::{permitted, runs};
use crate::pg::call::{Call, arguments, datum, must_be_writable, required};
use crate::pg::error::{Result, cancelled_by_trigger};
use crate::pg::output::Output;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement, with_spi};
use crate::pg::word::read;
use pgrx::pg_sys::Datum;

arguments!(heartbeat_many: JOB_IDS, ATTEMPTS, LEASE, UNBIND);

static LOCK_FREE: Statement = statement!("lock_free_runs", [INT8ARRAYOID, INT4ARRAYOID]);
static HEARTBEAT_MANY: Statement = statement!(
    "heartbeat_many",
    [INT8ARRAYOID, INT4ARRAYOID, INTERVALOID, BOOLOID]
);

/// What a worker is told of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    CancelRequested,
    Lost,
}

impl Status {
    const NAMES: [(&str, Self); 3] = [
        ("running", Self::Running),
        ("cancel_requested", Self::CancelRequested),
        ("lost", Self::Lost),
    ];

    fn name(self) -> &'static str {
        let mut names = Self::NAMES.into_iter();
        let known = names.find(|&(_, status)| status == self);
        known.map_or("", |(name, _)| name)
    }
}

/// A run in its place among those of the call; without an id where the caller may not work on the queue.
#[derive(Clone, Copy)]
struct Given {
    place: usize,
    id: Option<i64>,
    attempt: i32,
}

/// The runs whose rows are locked now, or are gone, and those that another transaction has locked, as they are without it.
struct Looked {
    ours: Vec<Given>,
    held: Vec<(Given, Status)>,
    has_locked: bool,
}

/// One row for each run, in the order given.
pub fn heartbeat_many(call: &Call) -> Result<Option<Datum>> {
    must_be_writable()?;
    let runs = runs(call)?;
    check_lease(call, heartbeat_many::LEASE)?;
    let unbind = required(call.boolean(heartbeat_many::UNBIND), "unbind")?;
    let more = [call.raw(heartbeat_many::LEASE), datum(unbind)];
    let mut output = Output::of(call);
    with_spi(|spi| {
        let given = given(permitted(spi, &runs)?);
        let mut told = vec![Status::Lost; runs.len()];
        // Who unbinds a run relies on it. Such a call waits, and locks in the order of ids alone, or two could wait for each other.
        let mut looked = match unbind || armed(Seeded::WaitForHeldRuns) {
            true => Looked::all_ours(given),
            false => look(spi, &given)?,
        };
        // Where there is nothing else to do, it waits as the call about one run does.
        if !looked.has_locked {
            let held = looked.held.iter().map(|&(run, _)| run);
            looked = Looked::all_ours(looked.ours.iter().copied().chain(held).collect());
        }
        extend(spi, &looked.ours, more, &mut told)?;
        if !looked.held.is_empty() {
            // They may have ended since, or be free by now.
            let held: Vec<Given> = looked.held.iter().map(|&(run, _)| run).collect();
            let again = look(spi, &held)?;
            extend(spi, &again.ours, more, &mut told)?;
            for (run, status) in again.held {
                tell(&mut told, run, status);
            }
        }
        for (place, (status, &(job_id, _))) in told.into_iter().zip(&runs).enumerate() {
            let ord = datum(i32::try_from(place + 1).unwrap_or(i32::MAX));
            output.push([ord, datum(job_id), datum(status.name())].into_iter());
        }
        Ok(None)
    })
}

fn given(permitted: Vec<(Option<i64>, i32)>) -> Vec<Given> {
    let runs = permitted.into_iter().enumerate();
    runs.map(|(place, (id, attempt))| Given { place, id, attempt })
        .collect()
}

impl Looked {
    fn all_ours(ours: Vec<Given>) -> Self {
        Self {
            ours,
            held: Vec::new(),
            has_locked: true,
        }
    }
}

fn look(spi: &Spi, runs: &[Given]) -> Result<Looked> {
    let rows = spi.run(&LOCK_FREE, &keys(runs))?;
    let mut looked = Looked {
        ours: Vec::with_capacity(runs.len()),
        held: Vec::new(),
        has_locked: false,
    };
    for (row, &run) in runs.iter().enumerate() {
        let (is_locked, status): (bool, &str) = (rows.required(row, 1)?, rows.required(row, 2)?);
        looked.has_locked |= is_locked;
        match read(status, Status::NAMES)? {
            status if !is_locked && status != Status::Lost => looked.held.push((run, status)),
            _ => looked.ours.push(run),
        }
    }
    Ok(looked)
}

fn extend(
    spi: &Spi,
    runs: &[Given],
    [lease, unbind]: [Option<Datum>; 2],
    told: &mut [Status],
) -> Result<()> {
    let [ids, attempts] = keys(runs);
    let rows = spi.run(&HEARTBEAT_MANY, &[ids, attempts, lease, unbind])?;
    for (row, &run) in runs.iter().enumerate() {
        if rows.required(row, 2)? {
            return Err(cancelled_by_trigger("update"));
        }
        tell(told, run, read(rows.required(row, 1)?, Status::NAMES)?);
    }
    Ok(())
}

fn keys(runs: &[Given]) -> [Option<Datum>; 2] {
    let ids: Vec<Option<i64>> = runs.iter().map(|run| run.id).collect();
    let attempts: Vec<i32> = runs.iter().map(|run| run.attempt).collect();
    [datum(ids), datum(attempts)]
}

fn tell(told: &mut [Status], run: Given, status: Status) {
    if let Some(place) = told.get_mut(run.place) {
        *place = status;
    }
}
