//! A worker's process sleeps until one of its queues may have work.
//!
//! It lies down under the same lock under which work appears, after it has looked for work there; so
//! nothing can come between. While it sleeps it runs nothing; a latch, the clock, a signal, or the end of its
//! client's connection wakes it.

use crate::error::Result;
use crate::pending::{self, Work};
use crate::server::now;
use crate::shmem::{self, Locked, Phase};
use pgrx::{pg_guard, pg_sys};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::OnceLock;
use turnstile_scheduler::Step;

const MICROS_PER_MS: i64 = 1_000;

/// Who sleeps, for what, and until when.
pub struct Sleep<'a> {
    pub job_table: pg_sys::Oid,
    pub queues: &'a [u64],
    /// In microseconds of PostgreSQL's epoch.
    pub until: i64,
    /// Between transactions: when jobs fall due it can make them available for everybody.
    pub is_between_transactions: bool,
}

/// Why it sleeps no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There may be work in one of the queues.
    Work,
    /// The time is over.
    Timeout,
    /// Something has fallen due, and it is this process that sees to it.
    Due,
    /// Memory must be rebuilt before anything can be said.
    Rebuild,
    /// The extension was dropped.
    Gone,
}

enum Look {
    Over(End),
    /// Nothing: look again by then.
    Until(i64),
}

thread_local! {
    /// The table of the memory in which this process is asleep, or has a wake-up in flight.
    static PLACE: Cell<Option<pg_sys::Oid>> = const { Cell::new(None) };
    static LEAVES_AT_EXIT: Cell<bool> = const { Cell::new(false) };
}

/// This process's place among the sleepers.
pub fn own_number() -> u32 {
    // SAFETY: a process that runs SQL has one of the first MaxBackends entries of the process array.
    let number = unsafe { (*pg_sys::MyProc).pgprocno };
    u32::try_from(number).map_or(0, |number| number + 1)
}

impl Sleep<'_> {
    /// Sleeps until there is work or something else to do. An error (cancelled, terminated, the client gone)
    /// leaves the place by the abort that follows.
    pub fn run(&self) -> Result<End> {
        leave_at_exit();
        loop {
            let look = shmem::with_existing(self.job_table, |memory| self.look(memory))?;
            match look {
                Some(Look::Until(time)) => wait_until(time),
                Some(Look::Over(end)) => {
                    pgrx::check_for_interrupts!();
                    return Ok(end);
                }
                None => return Ok(End::Gone),
            }
        }
    }

    fn look(&self, memory: &mut Locked) -> Step<Look> {
        let (who, now) = (own_number(), now());
        if memory.desk.phase != Phase::Ready {
            memory.waiting.stop_waiting(who);
            PLACE.set(None);
            return Ok(Look::Over(End::Rebuild));
        }
        if memory.waiting.is_timekeeper(who) {
            memory.waiting.clear_alarm();
        }
        let keeps_time = memory.waiting.is_timekeeper(who);
        memory.show_hidden_when_due(now)?;
        memory.tend(now)?;
        let Locked {
            waiting, scheduler, ..
        } = memory;
        let has_work = |queue| scheduler.has_work(queue);
        if waiting.should_claim(who, self.queues, now >= self.until, now, has_work) {
            return Ok(Look::Over(End::Work));
        }
        if now >= self.until {
            memory.waiting.stop_waiting(who);
            PLACE.set(None);
            return Ok(Look::Over(End::Timeout));
        }
        if keeps_time && memory.waiting.alarm_for(memory.next_event()) <= now {
            self.see_to_events(memory, now);
            return Ok(Look::Over(End::Due));
        }
        PLACE.set(Some(self.job_table));
        memory
            .waiting
            .start_waiting(who, self.queues, self.is_between_transactions);
        memory.tend(now)?;
        Ok(Look::Until(match memory.waiting.is_timekeeper(who) {
            true => self.until.min(memory.waiting.alarm()),
            false => self.until,
        }))
    }

    /// What one who stays in a transaction made available would stay locked while he sleeps on; so he does it
    /// for his own queues only, and wakes one of each other.
    fn see_to_events(&self, memory: &mut Locked, now: i64) {
        memory.waiting.note_alarm_fired(now);
        memory.waiting.wake(own_number(), now);
        if !self.is_between_transactions {
            memory.wake_one_of_each_queue(now);
        }
    }
}

/// Ends a wake-up: this process has claimed, or will not.
pub fn get_up() -> Result<()> {
    if let Some(table) = PLACE.take() {
        shmem::with_existing(table, |memory| {
            memory.waiting.stop_waiting(own_number());
            Ok(())
        })?;
    }
    Ok(())
}

/// Whether the transaction goes on after what its claim does now, for as long as it waits.
pub fn stays() -> bool {
    pending::stays()
}

/// Runs a claim that sleeps between its attempts.
pub fn staying<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    pending::begin(Work::Stay);
    let result = work()?;
    pending::end();
    Ok(result)
}

pub fn has_place() -> bool {
    PLACE.get().is_some()
}

/// As [`get_up`] under the lock.
pub fn get_up_in(memory: &mut Locked) {
    if PLACE.take().is_some() {
        memory.waiting.stop_waiting(own_number());
    }
}

/// As [`get_up`] where nothing may be raised: at the end of a transaction that was cut short, and at exit.
pub fn get_up_quietly() {
    let _ = catch_unwind(AssertUnwindSafe(get_up));
}

/// A process that was woken and goes without claiming passes its wake-up on.
fn leave_at_exit() {
    if !LEAVES_AT_EXIT.replace(true) {
        // SAFETY: the callback lives as long as the process, and runs while its entry in the process array
        // and the shared memory are still there.
        unsafe { pg_sys::before_shmem_exit(Some(at_exit), pg_sys::Datum::null()) };
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn at_exit(_code: i32, _arg: pg_sys::Datum) {
    get_up_quietly();
}

/// What can wake a sleeping process, made once: its latch, the end of the server, and that of its client.
struct Alarms(*mut pg_sys::WaitEventSet);
// SAFETY: a backend has one thread.
unsafe impl Send for Alarms {}
// SAFETY: as above.
unsafe impl Sync for Alarms {}

fn alarms() -> &'static Alarms {
    static ALARMS: OnceLock<Alarms> = OnceLock::new();
    ALARMS.get_or_init(|| {
        // SAFETY: latch, socket and context live as long as the process.
        unsafe {
            let set = pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, 3);
            let none = pg_sys::PGINVALID_SOCKET;
            let add = |events, socket, latch| {
                pg_sys::AddWaitEventToSet(set, events, socket, latch, null_mut());
            };
            add(pg_sys::WL_LATCH_SET, none, pg_sys::MyLatch);
            add(pg_sys::WL_EXIT_ON_PM_DEATH, none, null_mut());
            if !pg_sys::MyProcPort.is_null() && pg_sys::WaitEventSetCanReportClosed() {
                // The first field of PostgreSQL's Port, which the bindings do not know.
                let socket = *pg_sys::MyProcPort.cast::<pg_sys::pgsocket>();
                add(pg_sys::WL_SOCKET_CLOSED, socket, null_mut());
            }
            Alarms(set)
        }
    })
}

pub fn wait_until(time: i64) {
    let left = time.saturating_sub(now()).max(0);
    let ms = left.saturating_add(MICROS_PER_MS - 1) / MICROS_PER_MS;
    // SAFETY: the set lives as long as the process; a client that has gone is seen to by the interrupt.
    unsafe {
        let mut event = pg_sys::WaitEvent::default();
        pg_sys::WaitEventSetWait(
            alarms().0,
            ms.min(i64::from(i32::MAX)),
            &mut event,
            1,
            pg_sys::PG_WAIT_EXTENSION,
        );
        if event.events & pg_sys::WL_SOCKET_CLOSED != 0 {
            pg_sys::ClientConnectionLost = 1;
            pg_sys::InterruptPending = 1;
        }
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
    pgrx::check_for_interrupts!();
}

/// Wakes processes by their places.
pub fn ring(numbers: &[u32]) {
    let own = own_number();
    for &number in numbers.iter().filter(|&&number| number != own) {
        // SAFETY: places are those of entries of the process array; a latch may be set at any time.
        unsafe {
            let processes = (*pg_sys::ProcGlobal).allProcs;
            let process = processes.wrapping_add((number as usize).wrapping_sub(1));
            pg_sys::SetLatch(&raw mut (*process).procLatch);
        }
    }
}
