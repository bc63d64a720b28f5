//! Tables -> scheduler, all at once: at first use, after a restart, or when the memory cannot be trusted.
//!
//! 1. Under the lock: forget everything but open reservations and take a snapshot. A transaction whose commit
//!    callback comes later is either visible to the snapshot, and its jobs are counted below, or it is not, and its
//!    callback applies its changes as always. The callback can tell which.
//! 2. Count the jobs of the snapshot, in batches under the lock. Producers and finishers go on; claims wait.
//! 3. Mark the memory ready.

use crate::job::column;
use crate::job::lane::queue_key;
use crate::job::queues::FIRST_DUE;
use crate::job::tables;
use crate::pg::error::{Result, internal};
use crate::pg::locks::{Object, Part};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Spi, Statement, statement};
use crate::pg::tuple::RawRow;
use crate::shmem::{self, Locked, Phase};
use crate::sync::leases;
use crate::sync::scan::{BATCH, scan_available, scan_running};
use crate::table::visit_jobs;
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;
use turnstile_scheduler::{LaneSpec, LeaseView, READ_AHEAD, RunId, Step};

static PAUSED_SESSION: Statement = statement!("rebuild_paused_session", []);
static NEXT_RECURRING: Statement = statement!("recurring_next", []);

/// Lanes that are known to have come while the jobs are read.
const LANES_REMEMBERED: usize = 4_096;
/// Lanes or queues that are applied while the lock is held once.
const AT_ONCE: usize = 1_000;

/// Runs steps on memory that can be trusted, rebuilding it first if need be.
pub fn when_ready<R>(
    spi: &Spi,
    job_table: pg_sys::Oid,
    mut steps: impl FnMut(&mut Locked) -> Step<R>,
) -> Result<R> {
    loop {
        let result = shmem::with(job_table, |memory| match memory.state.phase {
            Phase::Ready => steps(memory).map(Some),
            Phase::Stale if armed(Seeded::UseStaleMemory) => steps(memory).map(Some),
            Phase::Stale | Phase::Rebuilding => Ok(None),
        })?;
        if let Some(result) = result {
            return Ok(result);
        }
        tables::lock(job_table)?;
        // One session rebuilds, and the others wait for it: with a lock, as that can be cancelled.
        let _turn = Object::part(job_table, Part::Rebuild).hold();
        if shmem::with(job_table, |memory| Ok(memory.state.phase))? != Phase::Ready {
            rebuild(spi, job_table)?;
        }
    }
}

fn rebuild(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    pending::begin(job_table, Work::Rebuild);
    // Where this transaction has rewritten the jobs, all of them are its own.
    let sees_own = tables::distrust_own_jobs(job_table);
    let (snapshot, generation) = shmem::with(job_table, |memory| begin(memory, sees_own))?;
    look_for_paused_sessions(spi, job_table, &snapshot)?;
    let mut count = Batch::new(job_table, |memory, spec: &LaneSpec, number| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        memory.scheduler.hold(spec, number)
    });
    let mut lower = Batch::new(job_table, |memory, spec: &LaneSpec, position| {
        memory.scheduler.lower(spec, position)
    });
    lower.read_ahead = |memory, lanes| {
        (memory.scheduler).read_ahead(lanes.iter().map(|(spec, _)| spec));
    };
    let mut watch = Batch::new(job_table, |memory, &(queue, run): &(u64, RunId), time| {
        memory.scheduler.note_lease(queue, run, time)
    });
    visit(spi, job_table, &snapshot, |job| match job {
        Read::Available(spec, position) => lower.add(spec, position),
        Read::Running(spec, number) => count.add(spec, number),
        Read::Lease(lease) => watch.add(&(lease.queue, lease.run), lease.time),
    })?;
    lower.finish()?;
    count.finish()?;
    watch.finish()?;
    let mut due = Batch::new(job_table, |memory, &queue, time| {
        memory.scheduler.note_due(queue, time)
    });
    read_times(spi, &FIRST_DUE, &snapshot, |queue, time| {
        due.add(&queue, time)
    })?;
    due.finish()?;
    look_at_recurring(spi, job_table)?;
    shmem::with(job_table, |memory| {
        if memory.state.generation != generation || memory.state.phase != Phase::Rebuilding {
            return Ok(());
        }
        memory.scheduler.end_rebuild()?;
        memory.state.patrol.wait_for_claim();
        memory.state.phase = Phase::Ready;
        Ok(())
    })?;
    pending::end();
    Ok(())
}

/// Reads when the first recurring job is due. What a subscription has brought was not told by a trigger.
fn look_at_recurring(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    let version = shmem::with(job_table, |memory| Ok(memory.state.recurring.look()))?;
    let next: Option<i64> = spi.run(&NEXT_RECURRING, &[])?.value(0, 1);
    shmem::with(job_table, |memory| {
        memory.state.recurring.looked(version, next);
        Ok(())
    })
}

/// What a rebuild reads of jobs.
enum Read<'r> {
    /// A lane has an available job at a position: at the least, and perhaps at others.
    Available(&'r LaneSpec, i64),
    /// So many jobs of a lane run, or hold their session.
    Running(&'r LaneSpec, i64),
    Lease(&'r LeaseView),
}

fn visit(
    spi: &Spi,
    job_table: pg_sys::Oid,
    snapshot: &Snapshot,
    mut visit: impl FnMut(Read) -> Result<()>,
) -> Result<()> {
    let mut recent = Recent::default();
    let is_read = visit_jobs(job_table, snapshot, |row| {
        let holds_session = row.holds_session();
        let is_available = row.is_available();
        let is_of_interest = is_available || row.is_running() || holds_session;
        if !is_of_interest || (is_available && !holds_session && recent.has_passed(row)) {
            return Ok(());
        }
        let job = row.read();
        if let Some(session) = &job.held_session {
            visit(Read::Running(session, 1))?;
        }
        match &job.lease {
            Some(lease) => {
                visit(Read::Running(&job.spec, 1))?;
                visit(Read::Lease(lease))
            }
            None if is_available => visit(Read::Available(&job.spec, job.position)),
            None => Ok(()),
        }
    })?;
    if is_read {
        return Ok(());
    }
    scan_available(spi, snapshot, &mut |spec, position, _| {
        visit(Read::Available(spec, position))
    })?;
    scan_running(spi, snapshot, &mut |spec, count, _| {
        visit(Read::Running(spec, count))
    })?;
    leases::scan(spi, snapshot, |lease| visit(Read::Lease(&lease)))
}

/// Lanes that came lately. Of a lane with many jobs few come before its first, so that most need not be read.
struct Recent(Vec<Option<(i64, i64)>>);

impl Default for Recent {
    fn default() -> Self {
        Self(vec![None; LANES_REMEMBERED])
    }
}

impl Recent {
    /// Whether a job of the same lane came that goes before this one.
    fn has_passed(&mut self, row: &RawRow) -> bool {
        let (Some(lane), Some(position)) = (row.int8(column::LANE), row.int8(column::POSITION))
        else {
            return false;
        };
        let nth = lane.cast_unsigned() as usize % LANES_REMEMBERED;
        let Some(place) = self.0.get_mut(nth) else {
            return false;
        };
        let has_passed = place.is_some_and(|(other, least)| other == lane && least <= position);
        if !has_passed {
            *place = Some((lane, position));
        }
        has_passed
    }
}

/// Where no session is paused, new sessions need not look for their pause.
fn look_for_paused_sessions(spi: &Spi, job_table: pg_sys::Oid, snapshot: &Snapshot) -> Result<()> {
    let first = spi.first_row(&PAUSED_SESSION, &[], snapshot, |_| ())?;
    shmem::with(job_table, |memory| {
        if first.is_none() {
            memory.scheduler.no_paused_sessions();
        }
        Ok(())
    })
}

/// Visits the queues that have a time, and the earliest.
fn read_times(
    spi: &Spi,
    statement: &Statement,
    snapshot: &Snapshot,
    mut visit: impl FnMut(u64, i64) -> Result<()>,
) -> Result<()> {
    spi.scan(statement, &[], snapshot, BATCH, |rows| {
        for row in 0..rows.len() {
            visit(queue_key(rows.required(row, 1)?), rows.required(row, 2)?)?;
        }
        Ok(())
    })
}

fn begin(memory: &mut Locked, sees_own: bool) -> Step<(Snapshot, u64)> {
    memory.scheduler.begin_rebuild()?;
    memory.shrink()?;
    let snapshot = match sees_own {
        true => Snapshot::with_own_changes(),
        false => Snapshot::take(),
    };
    let (xmax, running) = snapshot.horizon();
    let mut count = 0;
    for (slot, id) in memory.running_at_rebuild.iter_mut().zip(running) {
        *slot = id;
        count += 1;
    }
    memory.state.rebuild_xmax = xmax;
    memory.state.rebuild_running = count;
    memory.state.gone.look_at_all();
    memory.state.follow_ups.look_at_all();
    memory.forget_set_aside();
    memory.state.generation += 1;
    memory.state.phase = Phase::Rebuilding;
    Ok((snapshot, memory.state.generation))
}

/// Lanes or queues that are applied to the memory together, so that the lock is held neither often nor long.
struct Batch<T, F> {
    job_table: pg_sys::Oid,
    items: Vec<(T, i64)>,
    read_ahead: fn(&Locked, &[(T, i64)]),
    apply: F,
}

impl<T: Copy, F: Fn(&mut Locked, &T, i64) -> Step<()>> Batch<T, F> {
    fn new(job_table: pg_sys::Oid, apply: F) -> Self {
        Self {
            job_table,
            items: Vec::new(),
            read_ahead: |_, _| {},
            apply,
        }
    }

    fn add(&mut self, item: &T, number: i64) -> Result<()> {
        self.items.push((*item, number));
        if self.items.len() < AT_ONCE {
            return Ok(());
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let stayed = shmem::with(self.job_table, |memory| {
            if memory.state.phase != Phase::Rebuilding {
                return Ok(false);
            }
            for items in self.items.chunks(READ_AHEAD) {
                (self.read_ahead)(memory, items);
                for (item, number) in items {
                    memory.make_room(0);
                    (self.apply)(memory, item, *number)?;
                }
            }
            Ok(true)
        })?;
        self.items.clear();
        if stayed {
            return Ok(());
        }
        Err(
            internal("the scheduler's memory was damaged during its rebuild")
                .hint("The next call rebuilds it."),
        )
    }
}

/// Has the next use rebuild the memory, and does it at once.
pub fn force(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    shmem::with(job_table, |memory| {
        memory.ask_for_rebuild();
        Ok(())
    })?;
    when_ready(spi, job_table, |_| Ok(()))
}
