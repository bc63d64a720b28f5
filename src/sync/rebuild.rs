//! Tables -> scheduler, all at once: at first use, after a restart, or when the memory cannot be trusted.
//!
//! 1. Under the lock: forget everything but open reservations and take a snapshot. A transaction whose commit
//!    callback comes later is either visible to the snapshot, and its jobs are counted below, or it is not, and its
//!    callback applies its changes as always. The callback can tell which.
//! 2. Count the jobs of the snapshot, in batches under the lock. Producers and finishers go on; claims wait.
//! 3. Mark the memory ready.

#![allow(unsafe_code, reason = "takes a lock of the server")]

use crate::job::lane::{Names, session_key};
use crate::job::row::only_session;
use crate::job::tables;
use crate::pg::call::datum;
use crate::pg::error::{Result, internal};
use crate::pg::seeded::{Seeded, armed};
use crate::pg::snapshot::Snapshot;
use crate::pg::spi::{Rows, Spi, Statement, statement};
use crate::shmem::{self, Locked, Phase};
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;
use turnstile_scheduler::{LaneSpec, Step};

static AVAILABLE: Statement = statement!("rebuild_available", []);
static RUNNING: Statement = statement!("rebuild_running", []);
static HELD_SESSIONS: Statement = statement!("rebuild_held_sessions", []);
static PAUSED_SESSION: Statement = statement!("rebuild_paused_session", []);
static NEXT_DUE: Statement = statement!("next_due", [TIMESTAMPTZOID, INT8OID]);
static FIRST_LEASE: Statement = statement!("first_lease", []);

/// The column behind those that name a lane: a position or a count.
pub const NUMBER: i32 = 8;
/// Rows that are fetched at once.
const BATCH: i64 = 10_000;
/// Lanes that are counted while the lock is held once.
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
        let _turn = Turn::wait_for(job_table)?;
        if shmem::with(job_table, |memory| Ok(memory.state.phase))? != Phase::Ready {
            rebuild(spi, job_table)?;
        }
    }
}

fn rebuild(spi: &Spi, job_table: pg_sys::Oid) -> Result<()> {
    pending::with(|pending| pending.job_table = job_table);
    pending::begin(Work::Rebuild);
    // Where this transaction has rewritten the jobs, all of them are its own.
    let sees_own = tables::distrust_own_jobs(job_table);
    let (snapshot, generation) = shmem::with(job_table, |memory| begin(memory, sees_own))?;
    expect_paused_sessions(spi, job_table, &snapshot)?;
    let mut count = Batch::new(job_table, |memory, spec, number| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        memory.scheduler.hold(spec, number)
    });
    scan_running(spi, &snapshot, &mut |spec, number, _| {
        count.add(spec, number)
    })?;
    count.finish()?;
    let mut lower = Batch::new(job_table, |memory, spec, position| {
        memory.scheduler.lower(spec, position)
    });
    scan_available(spi, &snapshot, &mut |spec, position, _| {
        lower.add(spec, position)
    })?;
    lower.finish()?;
    let next_due = first_time(
        spi,
        &NEXT_DUE,
        &[datum(i64::MIN), datum(i64::MIN)],
        &snapshot,
    )?;
    let first_lease = first_time(spi, &FIRST_LEASE, &[], &snapshot)?;
    shmem::with(job_table, |memory| {
        if memory.state.generation != generation || memory.state.phase != Phase::Rebuilding {
            return Ok(());
        }
        memory.scheduler.end_rebuild()?;
        memory.note_due(next_due);
        memory.note_lease(first_lease);
        memory.state.phase = Phase::Ready;
        Ok(())
    })?;
    pending::end();
    Ok(())
}

/// Where no session is paused, new sessions need not look for their pause.
fn expect_paused_sessions(spi: &Spi, job_table: pg_sys::Oid, snapshot: &Snapshot) -> Result<()> {
    let first = spi.first_row(&PAUSED_SESSION, &[], snapshot, |_| ())?;
    shmem::with(job_table, |memory| {
        if first.is_none() {
            memory.scheduler.no_paused_sessions();
        }
        Ok(())
    })
}

fn first_time(
    spi: &Spi,
    statement: &Statement,
    from: &[Option<pg_sys::Datum>],
    snapshot: &Snapshot,
) -> Result<Option<i64>> {
    let time = spi.first_row(statement, from, snapshot, |rows| rows.value(0, 1))?;
    Ok(time.flatten())
}

fn begin(memory: &mut Locked, sees_own: bool) -> Step<(Snapshot, u64)> {
    memory.scheduler.begin_rebuild()?;
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
    memory.state.next_due = i64::MAX;
    memory.state.due_floor = [i64::MAX; 2];
    memory.state.leases.forget();
    memory.state.gone.look_at_all();
    memory.forget_set_aside();
    memory.state.generation += 1;
    memory.state.phase = Phase::Rebuilding;
    Ok((snapshot, memory.state.generation))
}

/// A lane with a number, and its names for reports.
type Visit<'v> = dyn FnMut(&LaneSpec, i64, &dyn Fn() -> String) -> Result<()> + 'v;

/// Visits each lane with available jobs and the least of their positions.
pub fn scan_available(spi: &Spi, snapshot: &Snapshot, visit: &mut Visit) -> Result<()> {
    scan(spi, snapshot, &AVAILABLE, lane_of_row, visit)
}

/// Visits what runs, as lanes with a count; a held session counts as a lane with only its session.
pub fn scan_running(spi: &Spi, snapshot: &Snapshot, visit: &mut Visit) -> Result<()> {
    scan(spi, snapshot, &RUNNING, lane_of_row, visit)?;
    scan(spi, snapshot, &HELD_SESSIONS, session_of_row, visit)
}

fn scan(
    spi: &Spi,
    snapshot: &Snapshot,
    statement: &Statement,
    spec_of: impl Fn(&Rows, usize) -> LaneSpec,
    visit: &mut Visit,
) -> Result<()> {
    spi.scan(statement, &[], snapshot, BATCH, |rows| {
        for row in 0..rows.len() {
            let number = rows.required(row, NUMBER)?;
            visit(&spec_of(rows, row), number, &|| {
                format!("{:?}", names(rows, row))
            })?;
        }
        Ok(())
    })
}

/// Lanes that are applied to the memory together, so that the lock is held neither often nor long.
struct Batch<F> {
    job_table: pg_sys::Oid,
    lanes: Vec<(LaneSpec, i64)>,
    apply: F,
}

impl<F: Fn(&mut Locked, &LaneSpec, i64) -> Step<()>> Batch<F> {
    fn new(job_table: pg_sys::Oid, apply: F) -> Self {
        Self {
            job_table,
            lanes: Vec::new(),
            apply,
        }
    }

    fn add(&mut self, spec: &LaneSpec, number: i64) -> Result<()> {
        self.lanes.push((*spec, number));
        if self.lanes.len() < AT_ONCE {
            return Ok(());
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let stayed = shmem::with(self.job_table, |memory| {
            if memory.state.phase != Phase::Rebuilding {
                return Ok(false);
            }
            for (spec, number) in &self.lanes {
                (self.apply)(memory, spec, *number)?;
            }
            Ok(true)
        })?;
        self.lanes.clear();
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
        if memory.state.phase == Phase::Ready {
            memory.state.phase = Phase::Stale;
        }
        Ok(())
    })?;
    when_ready(spi, job_table, |_| Ok(()))
}

fn names<'rows>(rows: &'rows Rows, row: usize) -> Names<'rows> {
    Names {
        queue: rows.value(row, 1).unwrap_or_default(),
        tenant: rows.value(row, 2),
        account: rows.value(row, 3),
        session: rows.value(row, 4),
        concurrency_key: rows.value(row, 5),
        unique_key: rows.value(row, 6),
    }
}

/// The lane that the first seven columns name.
pub fn lane_of_row(rows: &Rows, row: usize) -> LaneSpec {
    names(rows, row).lane(rows.value(row, 7).unwrap_or(0))
}

fn session_of_row(rows: &Rows, row: usize) -> LaneSpec {
    let names = names(rows, row);
    let spec = names.lane(0);
    let session = names.session.unwrap_or_default();
    only_session(session_key(spec.queue, spec.tenant, session))
}

/// One backend rebuilds, the others wait for it: a lock that can be cancelled.
struct Turn(pg_sys::LOCKTAG);

impl Turn {
    fn wait_for(job_table: pg_sys::Oid) -> Result<Self> {
        // SAFETY: the tag is that of an object of this database, as LockDatabaseObject would set it,
        // with a sub-id that no attribute of the table has.
        unsafe {
            let tag = pg_sys::LOCKTAG {
                locktag_field1: pg_sys::MyDatabaseId.into(),
                locktag_field2: pg_sys::RelationRelationId.into(),
                locktag_field3: job_table.into(),
                locktag_field4: u16::MAX,
                locktag_type: pg_sys::LockTagType::LOCKTAG_OBJECT as u8,
                locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
            };
            pg_sys::LockAcquire(&tag, pg_sys::ExclusiveLock as i32, false, false);
            Ok(Self(tag))
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: acquired in `wait_for`; after an error the abort releases it.
            unsafe { pg_sys::LockRelease(&self.0, pg_sys::ExclusiveLock as i32, false) };
        }
    }
}
