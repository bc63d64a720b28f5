//! What a locked section does at its end for processes that wait: see `turnstile_scheduler::waiting`.

use super::{Locked, Phase};
use crate::pg::server;
use pgrx::pg_sys;
use turnstile_scheduler::waiting::NEVER;
use turnstile_scheduler::{LaneSpec, Step};

/// An event that is pending until a process handles it.
const ALWAYS: i64 = 0;

impl Locked<'_> {
    /// When a process has to look although no transaction ends.
    pub fn next_event(&self) -> i64 {
        let overflow = if self.scheduler.has_overflow() {
            ALWAYS
        } else {
            NEVER
        };
        overflow
            .min(self.state.next_due)
            .min(self.state.leases.next)
            .min(self.state.gone.next)
            .min(self.state.set_aside.until())
            .min(self.scheduler.next_timer().unwrap_or(NEVER))
    }

    /// Whether a sleeping process may be woken once there is room for the lane.
    pub fn is_full(&self, spec: &LaneSpec) -> bool {
        self.waiting.is_anyone_waiting() && self.scheduler.room(spec) == 0
    }

    /// This many more jobs of a lane may be there to be claimed.
    pub fn expect_work(&mut self, spec: &LaneSpec, jobs: u32) {
        if jobs > 0 && self.waiting.is_waited_for(spec.queue) {
            let jobs = jobs.min(self.scheduler.room(spec));
            self.work.push((spec.queue, jobs));
        }
    }

    /// Whether a process sleeps, or was told that a queue is empty.
    fn is_any_waiting(&self) -> bool {
        self.waiting.is_anyone_waiting() || self.channels.is_any_armed()
    }

    /// Notes which processes have to be woken; their latches are set when the lock is released.
    pub fn note_wake_ups(&mut self, now: i64) -> Step<()> {
        if !self.is_any_waiting() {
            self.work.clear();
            return Ok(());
        }
        match self.state.phase {
            // It is not known which of them has work, so each looks for itself.
            Phase::Stale => {
                self.waiting
                    .wake_many(true, now, |who| self.calls.push(who));
                self.channels.notify_all(|who| self.calls.push(who));
            }
            Phase::Rebuilding => {}
            Phase::Ready => {
                self.bring_back_when_due(now)?;
                self.scheduler.advance(now)?;
                let next_event = self.next_event();
                let scheduler = &self.scheduler;
                self.waiting.wake_as_needed(
                    now,
                    &self.work,
                    next_event,
                    |queue| scheduler.has_work(queue),
                    |who| self.calls.push(who),
                );
                self.channels.notify_as_needed(
                    next_event,
                    |queue| scheduler.has_work(queue),
                    |who| self.calls.push(who),
                );
            }
        }
        self.work.clear();
        Ok(())
    }

    /// Called at the end of each locked section.
    pub(super) fn wake_at_unlock(&mut self) -> Step<()> {
        match self.is_any_waiting() {
            true => self.note_wake_ups(server::now()),
            false => Ok(()),
        }
    }

    /// The jobs are gone: no process finds this memory again, and sleeping processes are sent away.
    pub fn close(&mut self) {
        self.waiting.release_all(|who| self.calls.push(who));
        self.state.phase = Phase::Stale;
        self.state.job_table = pg_sys::InvalidOid;
    }

    /// Something has fallen due, and it is not known for which queue.
    pub fn wake_one_of_each_queue(&mut self, now: i64) {
        self.waiting
            .wake_many(false, now, |who| self.calls.push(who));
    }
}
