//! More lanes than fit into memory. All still run, but slower and not in exact order. `turnstile_scheduler` says what
//! memory keeps of the others and why no lane is passed over; this module reads the tables for it.
//!
//! From time to time a claim loads the next lanes of the round, so that each gets its turn whatever is in memory. A
//! claim that finds nothing in memory looks at the lanes of the tables before it gives up.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::{server, settings};
use crate::shmem::Locked;
use crate::sync::rebuild::{NUMBER, lane_of_row, when_ready};
use pgrx::pg_sys;
use std::rc::Rc;
use turnstile_scheduler::{Credit, EVERY_QUEUE, LaneSpec, Part, Search, Step};

static NEXT_LANES: Statement = statement!("next_lanes", [INT8OID, INT4OID]);

/// Parts that a claim which has found some jobs looks at for more.
const PARTS_FOR_MORE: usize = 8;
/// Parts that a process loads at once when it handles what is due.
const PARTS_AT_ONCE: usize = 8;

/// Lanes that were read, each with its first position.
#[derive(Default)]
struct Reading {
    lanes: Vec<(LaneSpec, i64)>,
    /// The key of the last lane, if there may be more behind it.
    last: Option<i64>,
}

/// Lanes that are read at once.
fn batch() -> u32 {
    u32::try_from(settings::max_lanes() / 4)
        .unwrap_or(u32::MAX)
        .clamp(16, 1_000)
}

fn read(spi: &Spi, part: &Part) -> Result<Reading> {
    let most = batch();
    let count = i32::try_from(most).unwrap_or(i32::MAX);
    let rows = spi.run(&NEXT_LANES, &[datum(part.after), datum(count)])?;
    let lanes = (0..rows.len())
        .map(|row| Ok((lane_of_row(&rows, row), rows.required(row, NUMBER)?)))
        .collect::<Result<Vec<(LaneSpec, i64)>>>()?;
    let last = lanes.last().map(|(spec, _)| spec.lane.cast_signed());
    Ok(Reading {
        last: last.filter(|_| lanes.len() >= most as usize),
        lanes,
    })
}

/// Asked by every claim: from time to time it loads lanes, so that each gets its turn.
pub fn duty(memory: &mut Locked) -> Option<Part> {
    if !memory.scheduler.has_overflow() {
        return None;
    }
    memory.state.claims_in_overflow += 1;
    let has_room = memory.scheduler.free_lanes() >= batch();
    let is_turn = memory.state.claims_in_overflow >= batch();
    (has_room || is_turn).then(|| {
        memory.state.claims_in_overflow = 0;
        memory.scheduler.next_part()
    })
}

/// Loads a part of the round.
pub fn load(spi: &Spi, job_table: pg_sys::Oid, part: &Part) -> Result<()> {
    let Reading { lanes, last } = read(spi, part)?;
    when_ready(spi, job_table, |memory| {
        memory.scheduler.advance(server::now())?;
        memory.scheduler.offer(part, &lanes, last, EVERY_QUEUE, &[])
    })
}

/// Loads some parts of the round, for processes that wait.
pub fn load_some(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    for _ in 0..PARTS_AT_ONCE {
        let part = when_ready(spi, job_table, |memory| {
            let scheduler = &mut memory.scheduler;
            Ok(scheduler.has_overflow().then(|| scheduler.next_part()))
        })?;
        match part {
            Some(part) => load(spi, job_table, &part)?,
            None => break,
        }
    }
    Ok(())
}

/// The lanes that a claim has to pick from beside those in memory.
pub struct OverflowSearch {
    queue: u64,
    /// If set, only the lanes of these queues, and only in memory.
    only: Option<Rc<[u64]>>,
    search: Option<Search>,
    found: Reading,
    parts: usize,
}

impl OverflowSearch {
    pub fn in_queue(queue: u64) -> Self {
        Self {
            queue,
            only: None,
            search: None,
            found: Reading::default(),
            parts: 0,
        }
    }

    /// Picks by priority over some queues. What is not in memory is looked for queue by queue, because a search in
    /// vain is remembered for one queue or for all.
    pub fn among(queues: Rc<[u64]>) -> Self {
        Self {
            only: Some(queues),
            ..Self::in_queue(EVERY_QUEUE)
        }
    }

    pub fn queue(&self) -> u64 {
        self.queue
    }

    /// Called before each pick, under the same lock: the lanes that were read last are put back if others took their
    /// room.
    pub fn offer(&self, memory: &mut Locked, now: i64, credits: &[Credit]) -> Step<()> {
        if let Some(only) = &self.only {
            memory.scheduler.limit_to(only.clone());
        }
        let Some(search) = &self.search else {
            return Ok(());
        };
        memory.scheduler.advance(now)?;
        let Reading { lanes, last } = &self.found;
        memory
            .scheduler
            .offer_to_search(search, lanes, *last, credits)
    }

    /// Called after a pick that found nothing, under the same lock.
    pub fn go_on(&mut self, memory: &mut Locked, credits: &[Credit]) {
        if self.only.is_some() || armed(Seeded::LookNowhereElse) {
            return;
        }
        let scheduler = &mut memory.scheduler;
        self.search = match &self.search {
            None => scheduler.begin_search(self.queue, credits),
            Some(search) => scheduler.go_on_searching(search, self.found.last),
        };
    }

    /// Reads the next lanes; false if there are no more, or enough were read for a claim that has found some jobs.
    pub fn read(&mut self, spi: &Spi, has_found_some: bool) -> Result<bool> {
        let Some(search) = &self.search else {
            return Ok(false);
        };
        if has_found_some && self.parts >= PARTS_FOR_MORE {
            return Ok(false);
        }
        pgrx::check_for_interrupts!();
        self.parts += 1;
        self.found = read(spi, &search.part)?;
        Ok(true)
    }

    /// The lane was looked at.
    pub fn has_seen(&mut self, lane: u64) {
        self.found.lanes.retain(|(spec, _)| spec.lane != lane);
    }
}
