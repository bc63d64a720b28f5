//! Puts one scheduler per database into shared memory, each behind an LWLock. The only pointer casts.

use crate::error::{Failure, Result, does_not_fit, internal, not_preloaded};
use crate::settings;
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use turnstile_scheduler::{Capacity, Fault, Header, Memory, Pools, Scheduler, Step};

const NAME: &std::ffi::CStr = c"turnstile";
/// Fields start at multiples of this.
const ALIGNMENT: usize = 64;

/// How far the memory of a database can be trusted.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Must be rebuilt before use.
    #[default]
    Stale,
    /// A backend is reading the tables; commits are applied, claims wait.
    Rebuilding,
    Ready,
}

/// What a database's slot holds besides the scheduler.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Desk {
    database: pg_sys::Oid,
    /// The OID of `turnstile.job`: a new one after `DROP EXTENSION` and `CREATE EXTENSION`.
    job_table: pg_sys::Oid,
    pub phase: Phase,
    /// Set while a step is under way: if it is found set, the step was cut short.
    dirty: bool,
    /// Which rebuild the memory comes from.
    pub generation: u64,
    /// No job waits for a time before this one (microseconds of PostgreSQL's epoch).
    pub next_due: i64,
    /// Where the next lanes are loaded from while there are more than fit.
    pub overflow_cursor: i64,
    /// Claims since lanes were loaded.
    pub claims_in_overflow: u32,
    /// A round of loading is under way.
    in_overflow_round: bool,
    /// Transactions from here on, and the listed ones, were not visible to the last rebuild.
    pub rebuild_xmax: u64,
    pub rebuild_running: u32,
}

/// One database's memory, while its lock is held.
pub struct Locked<'m> {
    pub desk: &'m mut Desk,
    pub scheduler: Scheduler<'m>,
    /// Top-level transactions that ran when the last rebuild took its snapshot.
    pub running_at_rebuild: &'m mut [u32],
}

impl Locked<'_> {
    /// Whether the last rebuild's snapshot saw the commit of a transaction.
    pub fn rebuild_has_seen(&self, id: u64) -> bool {
        let running = self.desk.rebuild_running as usize;
        let short = id as u32;
        id != 0
            && id < self.desk.rebuild_xmax
            && !self
                .running_at_rebuild
                .iter()
                .take(running)
                .any(|&r| r == short)
    }

    /// Whether some lanes may be known to the tables only.
    pub fn has_overflow(&self) -> bool {
        self.scheduler.is_spilled() || self.desk.in_overflow_round
    }

    /// Lanes are about to be loaded from the cursor on; from the first key on it is another round.
    pub fn begin_loading(&mut self) {
        if self.desk.overflow_cursor == i64::MIN {
            self.scheduler.forget_spill();
            self.desk.in_overflow_round = true;
        }
    }

    /// All keys have been seen: the overflow is over if all found room.
    pub fn end_overflow_round(&mut self) {
        self.desk.overflow_cursor = i64::MIN;
        self.desk.in_overflow_round = false;
    }

    /// A job was put off until then.
    pub fn note_due(&mut self, time: Option<i64>) {
        if let Some(time) = time {
            self.desk.next_due = self.desk.next_due.min(time);
        }
    }
}

static mut PREVIOUS_REQUEST_HOOK: pg_sys::shmem_request_hook_type = None;
static mut PREVIOUS_STARTUP_HOOK: pg_sys::shmem_startup_hook_type = None;
static mut BASE: *mut u8 = null_mut();
static mut LOCKS: *mut pg_sys::LWLockPadded = null_mut();

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// How large each field of a slot is.
#[derive(Clone, Copy)]
struct Layout {
    capacity: Capacity,
    running: usize,
    size: usize,
}

struct Cursor {
    base: *mut u8,
    offset: usize,
}

impl Cursor {
    fn advance<T>(&mut self, count: usize) -> *mut T {
        let at = self.offset.next_multiple_of(ALIGNMENT);
        self.offset = at + count * size_of::<T>();
        self.base.wrapping_add(at).cast()
    }
}

static LAYOUT: OnceLock<Layout> = OnceLock::new();

impl Layout {
    fn of_settings() -> Self {
        *LAYOUT.get_or_init(Self::measure)
    }

    fn measure() -> Self {
        let capacity = Capacity::for_lanes(settings::max_lanes());
        // SAFETY: set before the hooks run.
        let backends = unsafe { pg_sys::MaxBackends };
        // As many transactions as the process array has places.
        let running = backends + settings::max_prepared_transactions();
        let mut layout = Self {
            capacity,
            running: usize::try_from(running).unwrap_or(0),
            size: 0,
        };
        let mut cursor = Cursor {
            base: null_mut(),
            offset: 0,
        };
        layout.pointers(&mut cursor);
        layout.size = cursor.offset.next_multiple_of(ALIGNMENT);
        layout
    }

    fn pointers(&self, cursor: &mut Cursor) -> Pointers {
        let capacity = self.capacity;
        Pointers {
            desk: cursor.advance(1),
            header: cursor.advance(1),
            pools: cursor.advance(1),
            entries: cursor.advance(capacity.entries),
            entry_buckets: cursor.advance(capacity.entry_buckets()),
            gates: cursor.advance(capacity.gates),
            gate_buckets: cursor.advance(capacity.gate_buckets()),
            reservations: cursor.advance(capacity.reservations),
            reservation_buckets: cursor.advance(capacity.reservation_buckets()),
            running: cursor.advance(self.running),
        }
    }
}

struct Pointers {
    desk: *mut Desk,
    header: *mut Header,
    pools: *mut Pools,
    entries: *mut turnstile_scheduler::Entry,
    entry_buckets: *mut u32,
    gates: *mut turnstile_scheduler::Gate,
    gate_buckets: *mut u32,
    reservations: *mut turnstile_scheduler::Reservation,
    reservation_buckets: *mut u32,
    running: *mut u32,
}

/// Called from `_PG_init` while the server preloads the library.
pub fn install_hooks() {
    // SAFETY: the postmaster is single-threaded.
    unsafe {
        PREVIOUS_REQUEST_HOOK = pg_sys::shmem_request_hook;
        pg_sys::shmem_request_hook = Some(request);
        PREVIOUS_STARTUP_HOOK = pg_sys::shmem_startup_hook;
        pg_sys::shmem_startup_hook = Some(startup);
    }
}

fn total_size() -> usize {
    Layout::of_settings().size * settings::max_databases()
}

#[pg_guard]
unsafe extern "C-unwind" fn request() {
    // SAFETY: called by the postmaster, where both calls are allowed.
    unsafe {
        if let Some(previous) = PREVIOUS_REQUEST_HOOK {
            previous();
        }
        pg_sys::RequestAddinShmemSpace(total_size() + ALIGNMENT);
        let locks = settings::max_databases() + 1;
        pg_sys::RequestNamedLWLockTranche(NAME.as_ptr(), i32::try_from(locks).unwrap_or(i32::MAX));
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn startup() {
    // SAFETY: called at start with the request granted; fresh shared memory is zeroed, which is an
    // empty scheduler, so a page is touched only when it is needed.
    unsafe {
        if let Some(previous) = PREVIOUS_STARTUP_HOOK {
            previous();
        }
        let mut found = false;
        let start = pg_sys::ShmemInitStruct(NAME.as_ptr(), total_size() + ALIGNMENT, &mut found);
        let start = start.cast::<u8>();
        BASE = start.wrapping_add(start.align_offset(ALIGNMENT));
        LOCKS = pg_sys::GetNamedLWLockTranche(NAME.as_ptr());
    }
}

/// Holds an LWLock; releases it also when a panic unwinds.
struct Guard(NonNull<pg_sys::LWLock>);

impl Guard {
    /// Lock 0 guards the assignment of slots to databases, lock n+1 the slot n.
    fn acquire(index: usize) -> Result<Self> {
        // SAFETY: the tranche has max_databases + 1 locks; LOCKS is null only without the preload.
        unsafe {
            if LOCKS.is_null() {
                return Err(not_preloaded());
            }
            let lock = &raw mut (*LOCKS.wrapping_add(index)).lock;
            pg_sys::LWLockAcquire(lock, pg_sys::LWLockMode::LW_EXCLUSIVE);
            NonNull::new(lock)
                .map(Self)
                .ok_or_else(|| internal("no lock"))
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // SAFETY: acquired in `acquire`, unless error recovery has released all locks already.
        unsafe {
            if pg_sys::LWLockHeldByMe(self.0.as_ptr()) {
                pg_sys::LWLockRelease(self.0.as_ptr());
            }
        }
    }
}

/// # Safety
/// The slot's lock must be held for as long as the result lives.
unsafe fn open<'m>(slot: usize) -> Locked<'m> {
    let layout = Layout::of_settings();
    // SAFETY: the segment has max_databases slots of this layout; each pointer is aligned, in
    // bounds, and disjoint from the others; all-zero is valid for every type.
    unsafe {
        let mut cursor = Cursor {
            base: BASE.wrapping_add(slot * layout.size),
            offset: 0,
        };
        let at = layout.pointers(&mut cursor);
        let capacity = layout.capacity;
        let memory = Memory {
            header: &mut *at.header,
            pools: &mut *at.pools,
            entries: std::slice::from_raw_parts_mut(at.entries, capacity.entries),
            entry_buckets: std::slice::from_raw_parts_mut(
                at.entry_buckets,
                capacity.entry_buckets(),
            ),
            gates: std::slice::from_raw_parts_mut(at.gates, capacity.gates),
            gate_buckets: std::slice::from_raw_parts_mut(at.gate_buckets, capacity.gate_buckets()),
            reservations: std::slice::from_raw_parts_mut(at.reservations, capacity.reservations),
            reservation_buckets: std::slice::from_raw_parts_mut(
                at.reservation_buckets,
                capacity.reservation_buckets(),
            ),
        };
        Locked {
            desk: &mut *at.desk,
            scheduler: Scheduler::new(capacity.lanes, memory),
            running_at_rebuild: std::slice::from_raw_parts_mut(at.running, layout.running),
        }
    }
}

/// Runs steps on the memory of this database, giving it a slot if it has none.
pub fn with<R>(job_table: pg_sys::Oid, mut steps: impl FnMut(&mut Locked) -> Step<R>) -> Result<R> {
    loop {
        let slot = match cached_slot(job_table) {
            Some(slot) => slot,
            None => assign_slot(job_table)?,
        };
        if let Some(result) = run(slot, job_table, &mut steps)? {
            return Ok(result);
        }
    }
}

/// As [`with`] for commit and abort callbacks: no slot means that there is nothing to keep right.
pub fn with_existing<R>(
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    match cached_slot(job_table) {
        Some(slot) => run(slot, job_table, steps),
        None => {
            let _directory = Guard::acquire(0)?;
            match find_where(|database| database == my_database()) {
                Some(slot) => run(slot, job_table, steps),
                None => Ok(None),
            }
        }
    }
}

/// None if the slot is another extension's by now. If a step fails or panics the memory stays marked
/// dirty and the next use rebuilds it.
fn run<R>(
    slot: usize,
    job_table: pg_sys::Oid,
    steps: impl FnOnce(&mut Locked) -> Step<R>,
) -> Result<Option<R>> {
    let _guard = Guard::acquire(slot + 1)?;
    // SAFETY: the slot's lock is held until the end of this function.
    let mut locked = unsafe { open(slot) };
    if locked.desk.job_table != job_table || locked.desk.database != my_database() {
        return Ok(None);
    }
    if std::mem::replace(&mut locked.desk.dirty, true) {
        locked.desk.phase = Phase::Stale;
    }
    #[cfg(feature = "fault_injection")]
    turnstile_scheduler::injection::arm(settings::panic_at());
    match steps(&mut locked) {
        Ok(result) => {
            locked.desk.dirty = false;
            Ok(Some(result))
        }
        Err(Fault::Full) => {
            locked.desk.phase = Phase::Stale;
            Err(does_not_fit(
                "the limits of the running jobs",
                "Raise turnstile.max_lanes and restart the server, or finish jobs.",
            ))
        }
        Err(Fault::Corrupt(what)) => {
            locked.desk.phase = Phase::Stale;
            Err(
                internal(format!("the scheduler's memory is damaged: {what}"))
                    .hint("The next call rebuilds it from the tables; please report this."),
            )
        }
    }
}

fn my_database() -> pg_sys::Oid {
    // SAFETY: a constant of the backend.
    unsafe { pg_sys::MyDatabaseId }
}

/// The slot that this backend used last, if it is still the extension's.
fn cached_slot(job_table: pg_sys::Oid) -> Option<usize> {
    SLOT.get()
        .filter(|&slot| peek(slot) == (my_database(), job_table))
}

/// Whose slot it is. Read without the slot's lock: who acts on it checks again under the lock.
fn peek(slot: usize) -> (pg_sys::Oid, pg_sys::Oid) {
    let layout = Layout::of_settings();
    let mut cursor = Cursor {
        // SAFETY: BASE is set once, before any backend starts.
        base: unsafe { BASE }.wrapping_add(slot * layout.size),
        offset: 0,
    };
    let desk = layout.pointers(&mut cursor).desk;
    // SAFETY: the desk is in bounds and aligned.
    unsafe {
        (
            (&raw const (*desk).database).read_volatile(),
            (&raw const (*desk).job_table).read_volatile(),
        )
    }
}

/// Finds the slot of this database; takes a free one, or one whose database is gone, if it has none.
fn assign_slot(job_table: pg_sys::Oid) -> Result<usize> {
    let _directory = Guard::acquire(0)?;
    let database = my_database();
    let slot = find_where(|other| other == database)
        .or_else(|| find_where(|other| other == pg_sys::InvalidOid))
        .or_else(|| find_where(|other| !database_exists(other)))
        .ok_or_else(no_slot_left)?;
    let _guard = Guard::acquire(slot + 1)?;
    // SAFETY: the slot's lock is held.
    let mut locked = unsafe { open(slot) };
    if locked.desk.database != database || locked.desk.job_table != job_table {
        locked.scheduler.forget_everything();
        *locked.desk = Desk {
            database,
            job_table,
            generation: locked.desk.generation + 1,
            ..Desk::default()
        };
    }
    SLOT.set(Some(slot));
    Ok(slot)
}

/// The caller holds the directory lock, under which slots change hands.
fn find_where(is_it: impl Fn(pg_sys::Oid) -> bool) -> Option<usize> {
    (0..settings::max_databases()).find(|&slot| is_it(peek(slot).0))
}

fn database_exists(database: pg_sys::Oid) -> bool {
    // SAFETY: slots are assigned inside a transaction only.
    unsafe {
        pg_sys::SearchSysCacheExists(
            pg_sys::SysCacheIdentifier::DATABASEOID as i32,
            pg_sys::Datum::from(database),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
        )
    }
}

fn no_slot_left() -> Failure {
    does_not_fit(
        "the schedulers of so many databases",
        "Raise turnstile.max_databases and restart the server.",
    )
}
