//! Lets a worker's backend sleep until one of its queues may have work.
//!
//! The backend begins to wait under the same lock under which work appears, after it has looked for work there; so
//! nothing can come between. While it sleeps it runs nothing; a latch, the clock, a signal, or the end of its
//! client's connection wakes it.

use crate::pg::error::Result;
use crate::pg::server::now;
use crate::shmem::latches::{own_number, wait_until};
use crate::shmem::{self, sleeper};
use crate::shmem::{Locked, Phase};
use crate::transaction::pending::{self, Work};
use pgrx::pg_sys;
use turnstile_scheduler::Step;

/// The sleep of a backend: for which queues, and until when.
pub struct Sleep<'a> {
    pub job_table: pg_sys::Oid,
    pub queues: &'a [u64],
    /// In microseconds of PostgreSQL's epoch.
    pub until: i64,
    /// Set between transactions: when jobs fall due, the backend can make them available to all.
    pub is_between_transactions: bool,
}

/// Why the sleep has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There may be work in one of the queues.
    Work,
    /// The time is over.
    Timeout,
    /// Something has to be done that is of no one queue, and this process has to do it.
    Due,
    /// Memory must be rebuilt before anything can be said.
    Rebuild,
    /// The extension was dropped.
    Gone,
}

enum Look {
    Over(End),
    /// There is nothing to do: look again by then.
    Until(i64),
}

impl Sleep<'_> {
    /// Sleeps until there is work or something else to do. An error (cancelled, terminated, the client gone) ends the
    /// wait in the abort that follows.
    pub fn run(&self) -> Result<End> {
        sleeper::leave_at_exit();
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
        if memory.state.phase != Phase::Ready {
            memory.waiting.stop_waiting(who);
            sleeper::leave_place();
            return Ok(Look::Over(End::Rebuild));
        }
        if memory.waiting.is_timekeeper(who) {
            memory.waiting.clear_alarm();
        }
        let keeps_time = memory.waiting.is_timekeeper(who);
        memory.bring_back_when_due(now)?;
        memory.note_wake_ups(now)?;
        let Locked {
            waiting, scheduler, ..
        } = memory;
        let has_work = |queue| scheduler.has_work(queue) || scheduler.wakes_at(queue) <= now;
        if waiting.should_claim(who, self.queues, now >= self.until, now, has_work) {
            return Ok(Look::Over(End::Work));
        }
        if now >= self.until {
            memory.waiting.stop_waiting(who);
            sleeper::leave_place();
            return Ok(Look::Over(End::Timeout));
        }
        if keeps_time && memory.waiting.alarm_for(memory.next_event()) <= now {
            self.see_to_events(memory, now);
            return Ok(Look::Over(End::Due));
        }
        sleeper::take_place(self.job_table);
        memory
            .waiting
            .start_waiting(who, self.queues, self.is_between_transactions);
        memory.note_wake_ups(now)?;
        Ok(Look::Until(match memory.waiting.is_timekeeper(who) {
            true => self.until.min(memory.waiting.alarm()),
            false => self.until,
        }))
    }

    /// A backend that stays in a transaction keeps locked what it makes available until its call returns. So it does that
    /// for its own queues only, and wakes one backend of each other queue.
    fn see_to_events(&self, memory: &mut Locked, now: i64) {
        memory.waiting.note_alarm_fired(now);
        memory.waiting.wake(own_number(), now);
        if !self.is_between_transactions {
            memory.wake_one_of_each_queue(now);
        }
    }
}

/// Runs a claim that sleeps between its attempts.
pub fn staying<R>(job_table: pg_sys::Oid, work: impl FnOnce() -> Result<R>) -> Result<R> {
    pending::begin(job_table, Work::Stay);
    let result = work()?;
    pending::end();
    Ok(result)
}
