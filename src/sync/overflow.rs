//! More lanes than fit into memory. All still run, but slower and not in exact order. `turnstile_scheduler` says what
//! memory keeps of the others and why no lane is passed over; this module reads the tables for it, by queue and tenant.
//!
//! From time to time a claim loads some lanes that its queue has outside, so that each gets its turn whatever is in
//! memory. A claim that finds nothing in memory looks at them before it gives up. A queue that has none outside does neither.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::server;
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::Locked;
use crate::sync::rebuild::when_ready;
use crate::sync::scan::{NUMBER, lane_of_row};
use pgrx::pg_sys;
use std::rc::Rc;
use turnstile_scheduler::{Credit, EVERY_QUEUE, LaneKey, LaneSpec, Part, Search, Step};

static NEXT_LANES: Statement = statement!("next_lanes", [INT8OID, INT8OID, INT8OID, INT4OID]);

/// Parts that a claim which has found some jobs looks at for more.
const PARTS_FOR_MORE: usize = 8;

/// Lanes that were read, each with its first position.
#[derive(Default)]
struct Reading {
    lanes: Vec<(LaneSpec, i64)>,
    /// The key of the last lane, if there may be more behind it.
    last: Option<LaneKey>,
}

/// Lanes that are read at once.
const BATCH: u32 = 256;

fn read(spi: &Spi, part: &Part) -> Result<Reading> {
    let count = i32::try_from(BATCH).unwrap_or(i32::MAX);
    let rows = spi.run(
        &NEXT_LANES,
        &[
            datum(part.after.group),
            datum(part.after.lane),
            datum(part.to_group),
            datum(count),
        ],
    )?;
    let lanes = (0..rows.len())
        .map(|row| Ok((lane_of_row(&rows, row), rows.required(row, NUMBER)?)))
        .collect::<Result<Vec<(LaneSpec, i64)>>>()?;
    let last = lanes.last().map(|(spec, _)| LaneKey::from(spec));
    Ok(Reading {
        last: last.filter(|_| lanes.len() >= BATCH as usize),
        lanes,
    })
}

/// Asked by every claim: from time to time it loads lanes of its queues, so that each gets its turn, and whenever there
/// is room for them.
pub fn duty(memory: &mut Locked, queues: &[u64]) -> Step<Option<Part>> {
    for &queue in queues {
        if !memory.scheduler.has_outside(queue)? {
            continue;
        }
        memory.make_room_for_lanes(BATCH as usize);
        let part = memory.scheduler.part_to_load(queue, BATCH)?;
        if part.is_some() {
            return Ok(part);
        }
    }
    Ok(None)
}

/// Loads a part of a round.
pub fn load(spi: &Spi, job_table: pg_sys::Oid, part: &Part) -> Result<()> {
    let Reading { lanes, last } = read(spi, part)?;
    when_ready(spi, job_table, |memory| {
        memory.make_room_for_lanes(lanes.len());
        memory.scheduler.advance(server::now())?;
        memory.scheduler.offer(part, &lanes, last, EVERY_QUEUE, &[])
    })
}

/// The lanes that a claim has to pick from beside those in memory.
pub struct OverflowSearch {
    queue: u64,
    /// If set, only the lanes of these queues, and only in memory.
    only: Option<Rc<[u64]>>,
    search: Option<Search>,
    found: Reading,
    /// What is left of it was never in memory: there was no room for all at once.
    has_rest: bool,
    parts: usize,
}

impl OverflowSearch {
    pub fn in_queue(queue: u64) -> Self {
        Self {
            queue,
            only: None,
            search: None,
            found: Reading::default(),
            has_rest: false,
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
        let Reading { lanes, last } = &self.found;
        memory.make_room_for_lanes(lanes.len());
        memory.scheduler.advance(now)?;
        memory
            .scheduler
            .offer_to_search(search, lanes, *last, credits)
    }

    /// Called after a pick that found nothing, under the same lock.
    pub fn go_on(&mut self, memory: &mut Locked, credits: &[Credit]) -> Step<()> {
        if self.only.is_some() || armed(Seeded::LookNowhereElse) {
            return Ok(());
        }
        self.has_rest = self.keep_rest(memory, credits)? && !armed(Seeded::SkipWhatFindsNoRoom);
        if self.has_rest {
            return Ok(());
        }
        let scheduler = &mut memory.scheduler;
        self.search = match &self.search {
            None => scheduler.begin_search(self.queue, credits)?,
            Some(search) => scheduler.go_on_searching(search, self.found.last, credits)?,
        };
        Ok(())
    }

    /// Nothing in memory may run, so only lanes that found no room there are still to be looked at. Returns false if there
    /// are none, or if none of those that were read last has found room.
    fn keep_rest(&mut self, memory: &Locked, credits: &[Credit]) -> Step<bool> {
        let mut rest = Vec::new();
        for lane in &self.found.lanes {
            if memory.scheduler.is_left_out(&lane.0, credits)? {
                rest.push(*lane);
            }
        }
        let has_rest = !rest.is_empty() && rest.len() < self.found.lanes.len();
        self.found.lanes = rest;
        Ok(has_rest)
    }

    /// Reads the next lanes; false if there are no more, or enough were read for a claim that has found some jobs.
    pub fn read(&mut self, spi: &Spi, has_found_some: bool) -> Result<bool> {
        let Some(search) = &self.search else {
            return Ok(false);
        };
        if self.has_rest {
            return Ok(true);
        }
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
