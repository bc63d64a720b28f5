//! The count of all jobs by name: one pass over them, after which the numbers in memory are trusted.

use super::labels::labels_of;
use crate::job::column;
use crate::job::lane::lane_of;
use crate::job::{state, tables};
use crate::pg::error::Result;
use crate::pg::rights::Owner;
use crate::pg::server;
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Rows, Spi, Statement, statement, with_spi};
use crate::shmem;
use crate::table::visit_jobs;
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys::Oid;
use std::collections::HashMap;
use turnstile_scheduler::figures::{Change, Demand, Labels, State, Trust};
use turnstile_scheduler::{GateKind, LaneSpec};

static COUNT_JOBS: Statement = statement!("count_jobs", []).that_reads_all();

/// Rows that are fetched at once.
const BATCH: i64 = 1_000;
/// Lanes, and rows of jobs, that are counted while the lock is held once.
const LANES: usize = 500;
const JOBS: usize = 10_000;

/// As [`count`], where the pass does not make transactions fail that change jobs meanwhile.
pub fn count_unless_serializable(job_table: Oid) -> Result<()> {
    match server::is_serializable() {
        true => Ok(()),
        false => count(job_table),
    }
}

/// Counts all jobs in one pass. Producers, claims and all else go on meanwhile.
pub fn count(job_table: Oid) -> Result<()> {
    tables::lock(job_table)?;
    if tables::distrust_own_jobs(job_table) {
        return Ok(());
    }
    Owner::of_jobs()?.run(|| with_spi(|spi| count_with(spi, job_table)))
}

/// Counts the jobs again, if they were counted before.
pub fn count_anew(job_table: Oid) -> Result<()> {
    let was_counted = shmem::with(job_table, |memory| {
        let was_counted = memory.figures.trust() == Trust::Counted;
        if was_counted {
            memory.figures.distrust();
        }
        Ok(was_counted)
    })?;
    match was_counted {
        true => count(job_table),
        false => Ok(()),
    }
}

/// Nothing if another backend counts.
fn begin(job_table: Oid) -> Result<Option<(Snapshot, u64)>> {
    shmem::with(job_table, |memory| {
        if memory.figures.trust() == Trust::Counting {
            return Ok(None);
        }
        let snapshot = Snapshot::take();
        let generation = memory.figures.begin_count(snapshot.horizon())?;
        Ok(Some((snapshot, generation)))
    })
}

fn count_with(spi: &Spi, job_table: Oid) -> Result<()> {
    let Some((snapshot, generation)) = begin(job_table)? else {
        return Ok(());
    };
    pending::begin(job_table, Work::Count(generation));
    visit_figures(spi, job_table, &snapshot, &mut |lanes| {
        let now = server::now();
        shmem::with(job_table, |memory| {
            for (spec, jobs) in lanes {
                memory.make_room_for_figures(&Demand::by(spec, jobs));
                if !memory.figures.count(generation, spec, jobs, now)? {
                    break;
                }
            }
            Ok(())
        })
    })?;
    shmem::with(job_table, |memory| {
        memory.figures.end_count(generation);
        Ok(())
    })?;
    pending::end();
    Ok(())
}

type Visit<'v> = dyn FnMut(&[(LaneSpec, Change)]) -> Result<()> + 'v;

/// Visits all jobs that a snapshot sees, lane by lane; a lane may come several times.
pub fn visit_figures(
    spi: &Spi,
    job_table: Oid,
    snapshot: &Snapshot,
    visit: &mut Visit,
) -> Result<()> {
    let mut batch = Batch {
        lanes: HashMap::new(),
        jobs: 0,
        visit,
    };
    let is_read = visit_jobs(job_table, snapshot, |row| {
        batch.hand_on()?;
        let lane = row.int8(column::LANE).unwrap_or(0).cast_unsigned();
        if !batch.lanes.contains_key(&lane) {
            batch.add_lane(lane, row.read().spec, labels_of(row));
        }
        if let Some(state) = row.state() {
            batch.add(lane, state, row.int8(column::RUN_AT), 1);
        }
        Ok(())
    })?;
    if !is_read {
        spi.scan(&COUNT_JOBS, &[], snapshot, BATCH, |rows| {
            (0..rows.len()).try_for_each(|row| batch.add_row(rows, row))
        })?;
    }
    batch.finish()
}

struct Batch<'b, 'v> {
    lanes: HashMap<u64, (LaneSpec, Change)>,
    jobs: usize,
    visit: &'b mut Visit<'v>,
}

impl Batch<'_, '_> {
    fn add_lane(&mut self, lane: u64, spec: LaneSpec, labels: Labels) {
        let figures = Change {
            labels: Some(labels),
            ..Change::default()
        };
        self.lanes.insert(lane, (spec, figures));
    }

    /// Hands on what was counted, if that is enough for once.
    fn hand_on(&mut self) -> Result<()> {
        match self.lanes.len() >= LANES || self.jobs >= JOBS {
            true => self.finish(),
            false => Ok(()),
        }
    }

    fn add(&mut self, lane: u64, state: State, due: Option<i64>, jobs: i32) {
        if let Some((_, figures)) = self.lanes.get_mut(&lane) {
            figures.add(state, jobs);
            if let Some(due) = due.filter(|_| state == State::Available) {
                figures.arrived.add(due, jobs);
            }
            self.jobs += 1;
        }
    }

    /// A row of names in the order of the kinds, a state, a time and a number of jobs.
    fn add_row(&mut self, rows: &Rows, row: usize) -> Result<()> {
        self.hand_on()?;
        let names: [Option<&str>; 4] = [1, 2, 3, 4].map(|column| rows.value(row, column));
        let [queue, tenant, account, key] = names;
        let parent: Option<&str> = rows.value(row, 8);
        let spec = lane_of(0, |gate| match gate.kind {
            GateKind::Queue => queue,
            GateKind::Tenant => tenant,
            GateKind::Account => account,
            GateKind::Concurrency => key,
            GateKind::Batch => parent,
            GateKind::Session | GateKind::Unique => None,
        });
        if !self.lanes.contains_key(&spec.lane) {
            self.add_lane(spec.lane, spec, Labels::of(names));
        }
        let state: &str = rows.required(row, 5)?;
        // As where the rows are read directly.
        let Some(state) = state::counted(state.as_bytes()) else {
            return Ok(());
        };
        self.add(spec.lane, state, rows.value(row, 6), rows.required(row, 7)?);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let lanes: Vec<_> = self.lanes.drain().map(|(_, lane)| lane).collect();
        self.jobs = 0;
        (self.visit)(&lanes)
    }
}
