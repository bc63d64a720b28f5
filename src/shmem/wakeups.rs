//! What a locked section does at its end for processes that wait: see `turnstile_scheduler::waiting`.

use super::locked::Locked;
use super::set_aside::Passed;
use super::state::Phase;
use crate::pg::server;
use turnstile_scheduler::times::NEVER;
use turnstile_scheduler::{LaneSpec, Step};

impl Locked<'_> {
    /// When a process has to look although no transaction ends, whatever it waits for.
    pub fn next_event(&self) -> i64 {
        self.state
            .gone
            .next()
            .min(self.state.follow_ups.next())
            .min(self.state.set_aside.until())
            .min(self.scheduler.next_timer().unwrap_or(NEVER))
    }

    /// The claim that set these lanes aside is over.
    pub fn set_aside(&mut self, lanes: &[Passed], now: i64) -> Step<()> {
        for passed in lanes {
            if !self.state.set_aside.add(passed, now) {
                self.scheduler.lower(&passed.spec, passed.position)?;
            }
        }
        Ok(())
    }

    /// A claim begins, or the time is over: lanes that do not rest are looked at again. Whether there are any.
    pub fn bring_back(&mut self, now: i64) -> Step<bool> {
        let mut has_any = false;
        while let Some((spec, position)) = self.state.set_aside.take_one(now) {
            self.scheduler.lower(&spec, position)?;
            has_any = true;
        }
        Ok(has_any)
    }

    pub fn bring_back_when_due(&mut self, now: i64) -> Step<()> {
        match self.state.set_aside.until() <= now {
            true => self.bring_back(NEVER).map(|_| ()),
            false => Ok(()),
        }
    }

    /// The lanes are about to be read from the tables.
    pub fn forget_set_aside(&mut self) {
        self.state.set_aside.forget();
    }

    /// This transaction has done a part of what is to be done after other jobs. The rest need not wait for the next alarm.
    pub fn go_on_with_follow_ups(&mut self) {
        if self.state.follow_ups.next() <= server::now() {
            self.waiting.forget_alarm();
        }
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
                let has_work =
                    |queue| scheduler.has_work(queue) || scheduler.wakes_at(queue) <= now;
                let next_time = self.first_time(self.waiting.waited_for(), now);
                self.waiting.wake_as_needed(
                    now,
                    &self.work,
                    next_event.min(next_time),
                    has_work,
                    |who| self.calls.push(who),
                );
                let next_time = self.first_time(self.channels.armed_for(), now);
                self.channels
                    .notify_as_needed(next_event, next_time, has_work, |who| {
                        self.calls.push(who);
                    });
            }
        }
        self.work.clear();
        Ok(())
    }

    /// When the first of some queues falls due that has not by now.
    pub fn first_time(&self, queues: impl Iterator<Item = u64>, now: i64) -> i64 {
        let times = queues.map(|queue| self.scheduler.wakes_at(queue));
        times.filter(|&time| time > now).min().unwrap_or(NEVER)
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
        self.state.follow_ups.forget();
        self.growth.disown();
    }

    /// Something has fallen due, and it is not known for which queue.
    pub fn wake_one_of_each_queue(&mut self, now: i64) {
        self.waiting
            .wake_many(false, now, |who| self.calls.push(who));
    }
}
