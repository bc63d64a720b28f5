//! The figures of queues, tenants, accounts or concurrency keys, for the views.

use crate::job::{gates, tables};
use crate::permission;
use crate::pg::call::{Call, arguments, datum};
use crate::pg::error::{Result, bad_value, null_argument, quoted};
use crate::pg::output::Output;
use crate::pg::rights::Owner;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::with_spi;
use crate::pg::{catalog, server};
use crate::shmem::latches::wait_until;
use crate::shmem::{self, Locked, Phase};
use crate::table::figures::{count, visit_figures};
use pgrx::datum::TimestampWithTimeZone;
use pgrx::pg_sys::{self, Datum};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use turnstile_scheduler::figures::histogram::{BOUNDS, Histogram};
use turnstile_scheduler::figures::{Change, KINDS, NameView, STATES, Trust};
use turnstile_scheduler::{GateKind, Step};

arguments!(figures: GATE);

/// How often a backend looks whether another has finished its count, in microseconds.
const NEXT_LOOK: i64 = 1_000;
const MS: f64 = 1_000.0;
const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// A name, and how many jobs open claims are about to start.
type Shown = (NameView, i64);

/// Some names of the memory.
struct Part {
    trust: Trust,
    generation: u64,
    is_whole: bool,
    names: Vec<Shown>,
    next: Option<u32>,
    since: i64,
}

/// What was found in memory.
struct Found {
    trust: Trust,
    is_whole: bool,
    names: HashMap<u64, Shown>,
    since: Option<i64>,
}

pub fn figures(call: &Call) -> Result<Option<Datum>> {
    let kind = kind(call)?;
    let mut output = Output::of(call);
    let (shown, since) = all(kind)?;
    for (name, starting) in shown {
        push(&mut output, &name, starting, since);
    }
    Ok(None)
}

/// The upper bounds of the buckets, in milliseconds.
pub fn histogram_bounds(_call: &Call) -> Result<Option<Datum>> {
    let bounds = BOUNDS.iter().map(|&bound| bound.cast_signed());
    Ok(datum(bounds.collect::<Vec<i64>>()))
}

/// Counts events from now on.
pub fn stat_reset(_call: &Call) -> Result<Option<Datum>> {
    permission::operate()?;
    shmem::with(catalog::job_table()?, |memory| {
        memory.figures.reset_stats(server::now())
    })?;
    Ok(Some(Datum::null()))
}

fn kind(call: &Call) -> Result<GateKind> {
    let given = call
        .text(figures::GATE)
        .ok_or_else(|| null_argument("gate"))?;
    let mut known = gates::with_settings().filter(|(gate, _)| KINDS.contains(&gate.kind));
    let found = known.find(|(_, settings)| settings.argument == given);
    found.map(|(gate, _)| gate.kind).ok_or_else(|| {
        bad_value("gate must be queue, tenant, account or concurrency")
            .detail(format!("It is {}.", quoted(given)))
            .hint("Read the views instead, such as turnstile.stat_queue.")
    })
}

/// From memory. Where it cannot be used, or some names have found no room there, counted for this call.
fn all(kind: GateKind) -> Result<(Vec<Shown>, Option<i64>)> {
    let job_table = catalog::job_table()?;
    let found = from_memory(job_table, |makes_up| {
        let found = look(job_table, kind, makes_up)?;
        Ok((found.trust, found))
    })?;
    let Some(mut found) = found else {
        return Ok((counted_here(job_table, kind)?, None));
    };
    if !found.is_whole {
        replace(&mut found.names, counted_here(job_table, kind)?);
    }
    Ok((found.names.into_values().collect(), found.since))
}

/// What a look at the memory finds, after a count of the jobs if there was none: the first look may make up for names that found no
/// room. Nothing where the memory cannot be used.
pub(super) fn from_memory<T>(
    job_table: pg_sys::Oid,
    mut look: impl FnMut(bool) -> Result<(Trust, T)>,
) -> Result<Option<T>> {
    if server::is_in_recovery() {
        return Ok(None);
    }
    let mut has_counted = false;
    loop {
        let (trust, found) = look(!has_counted)?;
        match trust {
            Trust::Counted => return Ok(Some(found)),
            Trust::Counting => wait_until(server::now().saturating_add(NEXT_LOOK)),
            Trust::None if has_counted => return Ok(None),
            Trust::None => {
                has_counted = true;
                count(job_table)?;
            }
        }
    }
}

/// Looks at all names, without keeping others from the memory for long. Where another count begins meanwhile, it has to be awaited.
fn look(job_table: pg_sys::Oid, kind: GateKind, makes_up: bool) -> Result<Found> {
    let mut part = first_part(job_table, kind, makes_up)?;
    let (first, mut names) = (part.generation, HashMap::new());
    loop {
        let trust = match part.trust {
            Trust::Counted if part.generation != first => Trust::Counting,
            trust => trust,
        };
        names.extend(part.names.into_iter().map(|shown| (shown.0.key, shown)));
        match part.next {
            Some(next) if trust == Trust::Counted => {
                pgrx::check_for_interrupts!();
                part = next_part(job_table, kind, next)?;
            }
            _ => {
                return Ok(Found {
                    trust,
                    is_whole: part.is_whole,
                    names,
                    since: Some(part.since).filter(|&since| since != 0),
                });
            }
        }
    }
}

fn first_part(job_table: pg_sys::Oid, kind: GateKind, makes_up: bool) -> Result<Part> {
    shmem::with(job_table, |memory| {
        if makes_up {
            memory.make_up_for_overflow();
        }
        read_part(memory, kind, 0)
    })
}

fn next_part(job_table: pg_sys::Oid, kind: GateKind, from: u32) -> Result<Part> {
    shmem::with(job_table, |memory| read_part(memory, kind, from))
}

fn read_part(memory: &Locked, kind: GateKind, from: u32) -> Step<Part> {
    let trust = memory.figures.trust();
    let (shown, next) = match trust {
        Trust::Counted => memory.figures.view(kind, from, server::now())?,
        Trust::None | Trust::Counting => (Vec::new(), None),
    };
    let is_ready = memory.state.phase == Phase::Ready;
    let starting = |name: NameView| {
        let held = match is_ready {
            true => memory.scheduler.held_at(kind, name.key)?,
            false => 0,
        };
        let running = name.states.map_or(0, |[_, _, _, running, _]| running);
        Ok((name, (i64::from(held) - running).max(0)))
    };
    Ok(Part {
        trust,
        generation: memory.figures.generation(),
        is_whole: memory.figures.is_whole(kind),
        names: shown
            .into_iter()
            .map(starting)
            .collect::<Step<Vec<Shown>>>()?,
        next,
        since: memory.figures.stats_reset(),
    })
}

/// Puts the jobs that were counted in place of those that memory knows of.
fn replace(names: &mut HashMap<u64, Shown>, counted: Vec<Shown>) {
    for (name, _) in names.values_mut() {
        (name.states, name.waiting_since) = (Some([0; STATES]), None);
    }
    for (name, starting) in counted {
        match names.entry(name.key) {
            Entry::Occupied(mut known) => {
                let known = &mut known.get_mut().0;
                (known.states, known.waiting_since) = (name.states, name.waiting_since);
            }
            Entry::Vacant(place) => {
                place.insert((name, starting));
            }
        }
    }
}

fn counted_here(job_table: pg_sys::Oid, kind: GateKind) -> Result<Vec<Shown>> {
    tables::lock(job_table)?;
    let mut names: HashMap<u64, NameView> = HashMap::new();
    let snapshot = Snapshot::with_own_changes();
    Owner::of_jobs()?.run(|| {
        with_spi(|spi| {
            visit_figures(spi, job_table, &snapshot, &mut |lanes| {
                for (spec, jobs) in lanes {
                    add(&mut names, kind, spec.key_of(kind), jobs);
                }
                Ok(())
            })
        })
    })?;
    Ok(names.into_values().map(|name| (name, 0)).collect())
}

fn add(names: &mut HashMap<u64, NameView>, kind: GateKind, key: u64, jobs: &Change) {
    let Some(label) = jobs.label_of(kind) else {
        return;
    };
    let name = names.entry(key).or_insert_with(|| NameView {
        key,
        scope: label.scope.map(Into::into),
        name: label.name.into(),
        states: Some([0; STATES]),
        waiting_since: None,
        started: 0,
        ended: 0,
        stats: None,
    });
    let counts = name.states.iter_mut().flatten();
    for (count, jobs) in counts.zip(jobs.states) {
        *count += i64::from(jobs);
    }
    let first = jobs.arrived.first();
    name.waiting_since = first.into_iter().chain(name.waiting_since).min();
}

fn push(output: &mut Output, name: &NameView, starting: i64, since: Option<i64>) {
    let [waiting, scheduled, retryable, running, blocked] = name
        .states
        .map_or([None; STATES], |states| states.map(datum));
    let number = |number: u64| datum(number.cast_signed());
    let stats = name.stats.as_ref();
    let columns = [
        name.scope.as_deref().and_then(datum),
        datum(&*name.name),
        waiting,
        scheduled,
        retryable,
        running,
        blocked,
        datum(starting),
        name.waiting_since.and_then(timestamp),
        number(name.started),
        number(name.ended),
        since.and_then(timestamp),
    ];
    let events = stats.into_iter().flat_map(|stats| stats.events.map(number));
    let times = stats
        .into_iter()
        .flat_map(|stats| [&stats.waited, &stats.ran, &stats.waited_in_all])
        .flat_map(times);
    output.push(columns.into_iter().chain(events).chain(times));
}

/// Counts by bucket, the sum and quantiles, in milliseconds.
fn times(times: &Histogram) -> [Option<Datum>; 5] {
    let counts: Vec<i64> = times
        .buckets
        .iter()
        .map(|count| count.cast_signed())
        .collect();
    let [p50, p95, p99] = QUANTILES.map(|share| times.quantile(share).and_then(datum));
    [datum(counts), datum(times.sum as f64 / MS), p50, p95, p99]
}

pub(super) fn timestamp(time: i64) -> Option<Datum> {
    TimestampWithTimeZone::try_from(time).ok().and_then(datum)
}
