//! Runs of jobs that this transaction has made available and not committed, past all gates: for tests that end with a rollback.
//!
//! 1. Only rows that no other transaction sees are changed, and memory hears nothing of them, so no claim of others is affected.
//! 2. Each call costs as much as this transaction has jobs, whatever waits besides.
//! 3. No run is left when the transaction commits ([`crate::sync`] holds that), so no limit is passed by what is committed.

use crate::pg::call::datum;
use crate::pg::catalog;
use crate::pg::error::{Result, mixed_claims};
use crate::pg::output::Output;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::runs::by_statement::{START_JOBS, push_started};
use crate::runs::opening::{self, Turn};
use crate::transaction::{own, pending};
use crate::upkeep::follow_up;
use pgrx::pg_sys::{self, Datum};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use turnstile_scheduler::{EVERY_QUEUE, LaneSpec};

static FIND_OWN: Statement = statement!("find_own", [INT8ARRAYOID, INT8ARRAYOID, INT8ARRAYOID]);

/// Positions that one statement looks at.
const AT_ONCE: usize = 1_000;
type Place = (LaneSpec, i64);

/// Claims up to `most` jobs of these queues, the next one first.
pub fn claim_own(
    spi: &Spi,
    queues: &[u64],
    most: usize,
    worker: Option<Datum>,
    output: &mut Output,
) -> Result<()> {
    if pending::with(|pending| pending.reservations()) > 0 {
        return Err(mixed_claims());
    }
    let job_table = catalog::job_table()?;
    pending::note(job_table, |level| level.own.is_used = true);
    let mut left = most;
    while left > 0 {
        follow_up::perform_own(spi, job_table)?;
        let mut places = pending::with(|pending| pending.own_available());
        places.retain(|(spec, _)| queues.contains(&spec.queue) || queues.contains(&EVERY_QUEUE));
        let next = in_order(places, left.min(AT_ONCE));
        if next.is_empty() {
            break;
        }
        left -= start(spi, job_table, &next, worker, output)?;
    }
    Ok(())
}

/// The first of them by priority and position; jobs of a session by position alone.
fn in_order(mut places: Vec<Place>, most: usize) -> Vec<Place> {
    places.sort_unstable_by_key(|&(_, position)| position);
    let mut lines: BTreeMap<(u64, i64), VecDeque<Place>> = BTreeMap::new();
    for place in places {
        let (spec, position) = place;
        let is_alone = spec.session == 0 || armed(Seeded::ClaimOwnOutOfOrder);
        let line = if is_alone {
            (0, position)
        } else {
            (spec.session, 0)
        };
        lines.entry(line).or_default().push_back(place);
    }
    let key = |&(spec, position): &Place| Reverse((spec.priority, position));
    let mut heads: BinaryHeap<_> = lines
        .iter()
        .filter_map(|(line, places)| Some((key(places.front()?), *line)))
        .collect();
    let mut first = Vec::new();
    while first.len() < most
        && let Some((_, line)) = heads.pop()
        && let Some(places) = lines.get_mut(&line)
    {
        first.extend(places.pop_front());
        heads.extend(places.front().map(|place| (key(place), line)));
    }
    first
}

/// Starts what is still available at these places, and returns how many. A job whose turn opens its batch does not start.
fn start(
    spi: &Spi,
    job_table: pg_sys::Oid,
    places: &[Place],
    worker: Option<Datum>,
    output: &mut Output,
) -> Result<usize> {
    let column = |read: fn(&Place) -> i64| datum(places.iter().map(read).collect::<Vec<_>>());
    let found = spi.run(
        &FIND_OWN,
        &[
            column(|(spec, _)| spec.group().cast_signed()),
            column(|(spec, _)| spec.lane.cast_signed()),
            column(|&(_, position)| position),
        ],
    )?;
    let (mut ids, mut turns) = (Vec::new(), Vec::new());
    for row in 0..found.len() {
        let job: i64 = found.required(row, 1)?;
        match found.required(row, 2)? {
            true => turns.push(Turn {
                job,
                lane_group: found.required(row, 3)?,
                lane: found.required(row, 4)?,
            }),
            false => ids.push(job),
        }
    }
    pending::note(job_table, |level| {
        let passed = places.iter().map(|(spec, at)| ((spec.lane, *at), 1));
        own::add(&mut level.own.passed, passed);
        level.own.is_claiming = true;
    });
    opening::open(spi, &turns)?;
    let arguments = [
        datum(ids.as_slice()),
        worker,
        None,
        None,
        datum(server::now()),
        None,
        None,
        datum(vec![0_i32; ids.len()]),
        None,
    ];
    let started = spi.run(&START_JOBS, &arguments)?;
    pending::note(job_table, |level| level.own.is_claiming = false);
    let place = |id| ids.iter().position(|&known| known == id);
    let mut rows = Vec::with_capacity(started.len());
    for row in 0..started.len() {
        let id = started.required(row, 1)?;
        // A trigger may have kept it from running.
        if pending::with(|pending| pending.begun(id)).is_some_and(|begun| begun.is_open) {
            rows.push((place(id), row));
        }
    }
    rows.sort_unstable();
    for &(_, row) in &rows {
        push_started(spi, &started, row, output)?;
    }
    Ok(rows.len())
}
