//! More lanes than fit: all still run, slower and not in exact order.
//!
//! The tables know every lane. While the memory is marked as spilled, claims load lanes that it does not
//! have, in the order of their keys, round and round: into free slots where there are some, else in place of
//! lanes that have been there longest. A round that had to leave out nobody ends the overflow.

use crate::call::datum;
use crate::error::Result;
use crate::plan::{Spi, Statement, statement};
use crate::rebuild::{NUMBER, lane_of_row, when_ready};
use crate::settings;
use crate::shmem::{self, Locked};
use pgrx::pg_sys;
use turnstile_scheduler::{LaneSpec, Step};

static NEXT_LANES: Statement = statement!("next_lanes", [INT8OID, INT4OID]);

/// Lanes that one claim loads at most before it gives up.
const STEPS_PER_CLAIM: usize = 8;

/// Lanes that a claim is to load.
pub struct Load {
    round: u64,
    after: i64,
    count: u32,
    make_room: bool,
}

/// Lanes that are loaded at once.
fn batch() -> u32 {
    u32::try_from(settings::max_lanes() / 4)
        .unwrap_or(u32::MAX)
        .clamp(16, 1_000)
}

/// Asked by every claim: now and then it is to load lanes, so that each gets its turn.
pub fn duty(memory: &mut Locked) -> Option<Load> {
    if !memory.has_overflow() {
        return None;
    }
    memory.desk.claims_in_overflow += 1;
    let has_room = memory.scheduler.free_lanes() >= batch();
    let is_turn = memory.desk.claims_in_overflow >= batch();
    (has_room || is_turn).then(|| next_load(memory))
}

fn next_load(memory: &mut Locked) -> Load {
    memory.desk.claims_in_overflow = 0;
    let round = memory.overflow_round();
    Load {
        round,
        after: memory.desk.overflow_cursor,
        count: batch(),
        make_room: memory.scheduler.free_lanes() < batch(),
    }
}

/// Nothing in memory may run: looks among the lanes that are not there. True if it is worth another pick.
pub fn look_elsewhere(spi: &Spi, job_table: pg_sys::Oid, steps: &mut usize) -> Result<bool> {
    if *steps >= STEPS_PER_CLAIM {
        return Ok(false);
    }
    *steps += 1;
    let next = when_ready(spi, job_table, |memory| {
        Ok(memory.has_overflow().then(|| next_load(memory)))
    })?;
    match next {
        Some(next) => load(spi, job_table, &next).map(|()| true),
        None => Ok(false),
    }
}

/// Loads the lanes behind a key.
pub fn load(spi: &Spi, job_table: pg_sys::Oid, next: &Load) -> Result<()> {
    let &Load {
        round,
        after,
        count,
        make_room,
    } = next;
    let most = i32::try_from(count).unwrap_or(i32::MAX);
    let rows = spi.run(&NEXT_LANES, &[datum(after), datum(most)])?;
    let lanes = (0..rows.len())
        .map(|row| Ok((lane_of_row(&rows, row), rows.required(row, NUMBER)?)))
        .collect::<Result<Vec<(LaneSpec, i64)>>>()?;
    let is_end = lanes.len() < count as usize;
    shmem::with(job_table, |memory| {
        if (memory.desk.overflow_round, memory.desk.overflow_cursor) != (round, after) {
            return Ok(());
        }
        if make_room {
            memory.scheduler.evict(count)?;
        }
        insert(memory, &lanes, is_end)
    })
}

fn insert(memory: &mut Locked, lanes: &[(LaneSpec, i64)], is_end: bool) -> Step<()> {
    for (spec, head) in lanes {
        memory.scheduler.lower(spec, *head)?;
    }
    if is_end {
        memory.end_overflow_round();
    } else if let Some((last, _)) = lanes.last() {
        memory.desk.overflow_cursor = last.lane.cast_signed();
    }
    Ok(())
}
