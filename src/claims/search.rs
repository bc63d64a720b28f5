//! A claim goes from lane to lane, takes rows of each, and tells memory what was found.

use crate::claims::pick::{MOST_AT_ONCE, Next, pick, too_many_reservations};
use crate::claims::seen;
use crate::pg::error::{Result, in_serializable, mixed_claims};
use crate::pg::output::Output;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::Spi;
use crate::pg::{catalog, server};
use crate::runs::claimer::Claimer;
use crate::runs::look_ahead::{add_gone, look_ahead};
use crate::runs::opening::{self, Turn};
use crate::runs::run::{AHEAD, Started, Wanted};
use crate::runs::start::start_jobs;
use crate::shmem::{self, LOCKED_AGAIN, Passed, Phase, rest_after, sleeper};
use crate::sync::gate_settings::SettingsReader;
use crate::sync::overflow::OverflowSearch;
use crate::sync::rebuild::when_ready;
use crate::transaction::pending;
use crate::upkeep;
use crate::waiting::channels;
use pgrx::pg_sys;
use std::rc::Rc;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{Outcome, Pick, Picked, ReservationId};

/// Lanes that one look for work goes through.
const LOOKS_AT_MOST: usize = 32;
/// The least that a pick reserves, of what is left, where the lanes before have had few.
const LEAST_AT_ONCE: usize = 16;

/// Claims up to `most` jobs, the queues in the order given; returns how many.
pub fn claim_from(
    spi: &Spi,
    queues: &[u64],
    most: usize,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<usize> {
    let job_table = begin_call(spi, queues, most)?;
    let mut taken = 0;
    let mut is_listened_to = false;
    for &queue in queues {
        let search = OverflowSearch::in_queue(queue);
        let (found, has_listeners) = claim_in(
            spi,
            job_table,
            search,
            (taken, most - taken),
            claimer,
            output,
        )?;
        taken += found;
        is_listened_to |= has_listeners;
    }
    end_call(job_table)?;
    if is_listened_to && taken == 0 && !pending::stays() {
        channels::arm(spi, job_table, queues)?;
    }
    Ok(taken)
}

/// As a claim from every queue, if only these existed, and of what is in memory. The caller goes on with
/// [`claim_from`].
pub fn claim_among(
    spi: &Spi,
    queues: &Rc<[u64]>,
    most: usize,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<usize> {
    let job_table = begin_call(spi, queues, most)?;
    let search = OverflowSearch::among(queues.clone());
    claim_in(spi, job_table, search, (0, most), claimer, output).map(|(taken, _)| taken)
}

/// What comes before each claim; returns the table of jobs.
fn begin_call(spi: &Spi, queues: &[u64], most: usize) -> Result<pg_sys::Oid> {
    if server::is_serializable() {
        return Err(in_serializable());
    }
    if pending::with(|pending| pending.claims_own()) {
        return Err(mixed_claims());
    }
    let job_table = catalog::job_table()?;
    upkeep::run(spi, job_table, queues, most)?;
    Ok(job_table)
}

/// Claims what a search finds, for a call that has claimed some already; returns how many, and whether a client may
/// listen for work there.
fn claim_in(
    spi: &Spi,
    job_table: pg_sys::Oid,
    mut search: OverflowSearch,
    (already, most): (usize, usize),
    claimer: &Claimer,
    output: &mut Output,
) -> Result<(usize, bool)> {
    let mut left = most;
    let mut is_listened_to = false;
    let mut is_last_look = already > 0;
    let mut at_once = MOST_AT_ONCE;
    let mut settings = SettingsReader::default();
    while left > 0 && !pending::with(|pending| pending.must_not_claim) {
        let Next {
            pick,
            reservations,
            is_waited_for,
            has_listeners,
        } = pick(
            spi,
            job_table,
            &mut search,
            left.min(at_once),
            Some(claimer),
        )?;
        is_listened_to |= has_listeners;
        match pick {
            Pick::Nothing if search.read(spi, left < most)? => {}
            Pick::Nothing if is_last_look || left < most => break,
            Pick::Nothing => {
                is_last_look = true;
                if !bring_back_all(spi, job_table)? {
                    break;
                }
            }
            Pick::Unknown(spec, gates) => settings.read(spi, job_table, &spec, &gates)?,
            Pick::Exhausted if already > 0 || left < most => break,
            Pick::Exhausted => return Err(too_many_reservations()),
            Pick::Lane(picked) => {
                let lane = Lane {
                    picked: &picked,
                    reservations: &reservations,
                    is_waited_for,
                };
                let taken = take(spi, job_table, &lane, claimer, output)?;
                search.has_seen(picked.spec.lane);
                left = left.saturating_sub(taken);
                at_once = (2 * taken).clamp(LEAST_AT_ONCE, MOST_AT_ONCE);
            }
        }
    }
    Ok((most - left, is_listened_to))
}

/// For who finds nothing else: lanes that rest are looked at again, too. Whether there are any.
pub(super) fn bring_back_all(spi: &Spi, job_table: pg_sys::Oid) -> Result<bool> {
    if armed(Seeded::OverlookWhatRests) {
        return Ok(false);
    }
    when_ready(spi, job_table, |memory| memory.bring_back(NEVER))
}

/// Whether a claim would find a job just now. Memory forgets jobs that are gone.
pub fn finds_work(spi: &Spi, job_table: pg_sys::Oid, queue: u64) -> Result<bool> {
    let mut search = OverflowSearch::in_queue(queue);
    let mut looks = 0;
    let mut settings = SettingsReader::default();
    while looks < LOOKS_AT_MOST {
        looks += 1;
        match pick(spi, job_table, &mut search, 0, None)?.pick {
            Pick::Nothing if search.read(spi, false)? => looks -= 1,
            Pick::Nothing => return Ok(false),
            Pick::Unknown(spec, gates) => settings.read(spi, job_table, &spec, &gates)?,
            Pick::Exhausted => break,
            Pick::Lane(picked) => {
                if is_anything_left(spi, job_table, &picked)? {
                    return Ok(true);
                }
                search.has_seen(picked.spec.lane);
            }
        }
    }
    Ok(true)
}

/// Whether the lane has a job that no open claim has locked.
pub(super) fn is_anything_left(spi: &Spi, job_table: pg_sys::Oid, picked: &Picked) -> Result<bool> {
    let (seen, seen_all) = look_ahead(spi, picked, &[], AHEAD)?;
    let seen_only = Outcome {
        taken: &[],
        seen: &seen,
        seen_all,
    };
    settle(job_table, picked, &[], seen_only, 0, None)?;
    shmem::with(job_table, |memory| {
        let is_locked = |&at| memory.scheduler.is_in_flight(picked.spec.lane, at);
        let mut each = seen.iter();
        let all_locked = each.try_fold(true, |all, at| Ok(all && is_locked(at)?));
        all_locked.map(|all| !all)
    })
}

/// A lane with room reserved in it.
struct Lane<'a> {
    picked: &'a Picked,
    reservations: &'a [ReservationId],
    is_waited_for: bool,
}

/// Takes rows of the picked lane; returns how many.
fn take(
    spi: &Spi,
    job_table: pg_sys::Oid,
    lane: &Lane,
    claimer: &Claimer,
    output: &mut Output,
) -> Result<usize> {
    let &Lane {
        picked,
        reservations,
        ..
    } = lane;
    let own = pending::with(|pending| pending.own_positions(picked.spec.lane));
    let mut started = match reservations {
        [] => Started::default(),
        some => {
            let wanted = Wanted {
                picked,
                most: some.len(),
                own: &own,
                claimer,
                // Otherwise, the lane goes on somewhere behind what was seen. It matters when another lane may come before,
                // and when sleeping processes would be woken for an empty lane.
                with_next: lane.is_waited_for || picked.bound.is_some(),
            };
            start_jobs(spi, &wanted, output)?
        }
    };
    let openings = started.openings.iter();
    let turns: Vec<Turn> = openings.map(|&job| Turn::of(picked, job)).collect();
    let opened = opening::open(spi, &turns)?;
    let reservations = opening::keep_turn(job_table, picked, reservations, opened);
    if started.shows_next() {
        add_gone(picked, &mut started.seen);
    } else {
        (started.seen, started.seen_all) = look_ahead(spi, picked, &own, started.ahead())?;
    }
    let outcome = Outcome {
        taken: &started.positions,
        seen: &started.seen,
        seen_all: started.seen_all,
    };
    let rest = match started.has_paused {
        true => LOCKED_AGAIN,
        false => rest_after(outcome.seen.len()),
    };
    settle(
        job_table,
        picked,
        reservations,
        outcome,
        rest,
        Some(claimer),
    )?;
    Ok(started.positions.len())
}

/// `rest`: for how long claims that find something else leave the lane alone, if all that comes first is held.
pub(super) fn settle(
    job_table: pg_sys::Oid,
    picked: &Picked,
    reservations: &[ReservationId],
    outcome: Outcome,
    rest: i64,
    claimer: Option<&Claimer>,
) -> Result<()> {
    let blocked = shmem::with(job_table, |memory| {
        if let Some(claimer) = claimer {
            let jobs = outcome.taken.len();
            seen::note(memory, claimer, picked.spec.queue, jobs, picked.now);
        }
        memory.end_reservations(reservations.iter().copied(), |memory| {
            match memory.state.phase {
                Phase::Stale => memory
                    .scheduler
                    .settle_stale(reservations, outcome.taken)
                    .map(|()| None),
                Phase::Ready | Phase::Rebuilding => {
                    memory.scheduler.settle(picked, reservations, outcome)
                }
            }
        })
    });
    let used = blocked.as_ref().map_or(0, |_| outcome.taken.len());
    let ended = reservations.get(used..).unwrap_or_default();
    let blocked = pending::note(job_table, |level| {
        level.end_reservations(ended);
        blocked.inspect(|blocked| {
            let set_aside = blocked.map(|position| Passed {
                spec: picked.spec,
                position,
                rest,
            });
            level.set_aside.extend(set_aside);
        })
    });
    blocked.map(|_| ())
}

/// The call is over: lanes whose next job another transaction has locked will be looked at again, and the wake-up
/// that led here is over.
pub fn end_call(job_table: pg_sys::Oid) -> Result<()> {
    let set_aside = pending::note(job_table, |level| std::mem::take(&mut level.set_aside));
    let has_any = !set_aside.is_empty() && !armed(Seeded::ForgetHiddenLane);
    if !has_any && !sleeper::has_place() {
        return Ok(());
    }
    shmem::with(job_table, |memory| {
        if has_any {
            memory.set_aside(&set_aside, server::now())?;
        }
        sleeper::end_wait_in(memory);
        Ok(())
    })
}
