//! Which processes wait until there is work, and which were woken for it.
//!
//! The rule: where a queue has work and a waiting process, a wake-up is in flight. A wake-up is in flight from the moment
//! that a process is woken until that process has claimed, waits again, has ended, or has let [`WAKE_UP_TIMEOUT`] pass.
//! Whatever ends a wake-up or gives work to a queue has the rule applied before the lock is released
//! ([`Waiting::wake_as_needed`]). So a process that does not claim leaves no work beside one that waits.

use crate::memory::lane::EVERY_QUEUE;
use crate::testing::faults::{Seeded, armed};
use crate::times::{NEVER, SECOND};
use crate::waiting::lists::{NOBODY, WaitState, Waiter, Waiting};

/// How long a wake-up counts that no claim makes use of.
pub const WAKE_UP_TIMEOUT: i64 = SECOND / 10;

impl Waiting<'_> {
    pub fn is_anyone_waiting(&self) -> bool {
        self.lists.waiting.length > 0
    }

    /// Whether a process waits that would be woken for the queue.
    pub fn is_waited_for(&self, queue: u64) -> bool {
        self.is_anyone_waiting()
            && [queue, EVERY_QUEUE]
                .iter()
                .any(|&queue| self.waited_queue(queue).waiting > 0)
    }

    /// Whether a process waits for the queue, or was woken for it and has not claimed yet.
    pub fn is_attended(&self, queue: u64) -> bool {
        let queues = [queue, EVERY_QUEUE].map(|queue| self.waited_queue(queue));
        queues.iter().any(|it| it.waiting + it.woken > 0)
    }

    /// The queues that processes wait for.
    pub fn waited_for(&self) -> impl Iterator<Item = u64> + '_ {
        let used = self.waited_queues.iter().take(self.lists.queues as usize);
        used.filter(|each| each.waiting > 0).map(|each| each.queue)
    }

    pub fn is_waiting(&self, who: u32) -> bool {
        self.waiter(who).state == WaitState::Waiting
    }

    /// Whether a process that looks at its queues should claim from them. If so, that counts as a wake-up. A process that
    /// was not waiting takes what it finds, even if others were woken for it, because they may never come. One that
    /// waits and was not woken leaves the work to them until its time is over.
    pub fn should_claim(
        &mut self,
        who: u32,
        queues: &[u64],
        is_time_over: bool,
        now: i64,
        has_work: impl Fn(u64) -> bool,
    ) -> bool {
        let is_for_others = |queue| armed(Seeded::LeaveWorkToOthers) && self.is_in_flight(queue);
        let is_awake = !self.is_waiting(who) || is_time_over;
        let mut queues = queues.iter();
        let finds = is_awake && queues.any(|&queue| has_work(queue) && !is_for_others(queue));
        if finds {
            self.wake(who, now);
        }
        finds
    }

    /// A process has found nothing in these queues, under the lock that is still held.
    pub fn start_waiting(&mut self, who: u32, queues: &[u64], can_keep_time: bool) {
        if self.is_waiting(who) {
            return;
        }
        self.stop_waiting(who);
        let mut waiter = Waiter::EMPTY;
        waiter.can_keep_time = can_keep_time;
        for (slot, &queue) in waiter.queues.iter_mut().zip(queues) {
            *slot = queue;
            waiter.count += 1;
        }
        if let Some(slot) = self.slot(who) {
            *slot = waiter;
            self.add_to_list(who, WaitState::Waiting);
            self.count(who, 1, 0);
        }
    }

    /// A process does not wait any more, and a wake-up of it is over.
    pub fn stop_waiting(&mut self, who: u32) {
        match self.waiter(who).state {
            WaitState::Awake => return,
            WaitState::Waiting => self.count(who, -1, 0),
            WaitState::Woken => self.count(who, 0, -1),
        }
        self.remove_from_list(who);
    }

    /// A process counts as woken from now on.
    pub fn wake(&mut self, who: u32, now: i64) {
        if !self.is_waiting(who) {
            return;
        }
        self.remove_from_list(who);
        self.add_to_list(who, WaitState::Woken);
        self.count(who, -1, 1);
        if let Some(slot) = self.slot(who) {
            slot.woken_at = now;
        }
    }

    /// Wakes the processes that have to be woken: for `work`, which tells how many more jobs can be claimed from which
    /// queues, and by the rule. Calls `set_latch` for each process that has to look at the clock or at its queues.
    pub fn wake_as_needed(
        &mut self,
        now: i64,
        work: &[(u64, u32)],
        next_event: i64,
        has_work: impl Fn(u64) -> bool,
        mut set_latch: impl FnMut(u32),
    ) {
        if !self.is_anyone_waiting() {
            return;
        }
        self.expire_wake_ups(now);
        for &(queue, jobs) in work {
            if has_work(queue) {
                self.wake_for(queue, jobs, now, &mut set_latch);
            }
        }
        for at in 0..self.lists.queues as usize {
            let counts = self.waited_queues.get(at).copied().unwrap_or_default();
            let is_kept = counts.waiting == 0 || self.is_in_flight(counts.queue);
            if !is_kept && !armed(Seeded::LeaveWorkBehind) && has_work(counts.queue) {
                self.wake_for(counts.queue, 1, now, &mut set_latch);
            }
        }
        self.set_alarm(next_event, &mut set_latch);
    }

    /// Wakes one process for each queue, or all if memory cannot tell which queues have work.
    pub fn wake_many(&mut self, all: bool, now: i64, mut set_latch: impl FnMut(u32)) {
        for at in 0..self.lists.queues as usize {
            let queue = self
                .waited_queues
                .get(at)
                .map_or(EVERY_QUEUE, |each| each.queue);
            if all || !self.is_in_flight(queue) {
                self.wake_for(queue, if all { u32::MAX } else { 1 }, now, &mut set_latch);
            }
        }
    }

    /// What the processes wait for does not exist any more.
    pub fn release_all(&mut self, mut set_latch: impl FnMut(u32)) {
        for who in 1..=u32::try_from(self.waiters.len()).unwrap_or(0) {
            if self.waiter(who).state != WaitState::Awake {
                self.stop_waiting(who);
                set_latch(who);
            }
        }
    }

    pub fn is_timekeeper(&self, who: u32) -> bool {
        self.lists.timekeeper == who
    }

    /// When the timekeeper has to look without being woken.
    pub fn alarm(&self) -> i64 {
        self.lists.alarm
    }

    /// The timekeeper is awake. The alarm is set again when the rule is applied.
    pub fn clear_alarm(&mut self) {
        self.lists.alarm = NEVER;
    }

    /// The timekeeper handles the events that are due.
    pub fn note_alarm_fired(&mut self, now: i64) {
        self.lists.alarm_fired_at = now;
    }

    /// The event that made the alarm fire was handled, and what is due now is another one.
    pub fn forget_alarm(&mut self) {
        self.lists.alarm_fired_at = 0;
    }

    /// An event that was due when the alarm fired, and still is, waits for a while.
    pub fn alarm_for(&self, event: i64) -> i64 {
        match event <= self.lists.alarm_fired_at {
            true => self.lists.alarm_fired_at.saturating_add(WAKE_UP_TIMEOUT),
            false => event,
        }
    }

    fn set_alarm(&mut self, next_event: i64, set_latch: &mut impl FnMut(u32)) {
        if !self.is_anyone_waiting() {
            return;
        }
        let latest = match self.lists.woken.first {
            NOBODY => NEVER,
            first => self.waiter(first).woken_at.saturating_add(WAKE_UP_TIMEOUT),
        };
        let event = self.alarm_for(next_event);
        if self.lists.timekeeper == NOBODY && !armed(Seeded::LeaveTimeUnkept) {
            self.lists.timekeeper = self.choose_timekeeper();
            self.lists.alarm = NEVER;
        }
        // Wake-ups usually end by themselves: it is enough to look at them roughly in time.
        if event < self.lists.alarm || latest.saturating_add(WAKE_UP_TIMEOUT) < self.lists.alarm {
            self.lists.alarm = event.min(latest);
            set_latch(self.lists.timekeeper);
        }
    }

    /// A process that can run transactions, or else any.
    fn choose_timekeeper(&self) -> u32 {
        let mut each = self.lists.waiting.first;
        while each != NOBODY && !self.waiter(each).can_keep_time {
            each = self.waiter(each).next;
        }
        match each {
            NOBODY => self.lists.waiting.first,
            keeper => keeper,
        }
    }

    fn expire_wake_ups(&mut self, now: i64) {
        while self.lists.woken.first != NOBODY {
            let first = self.lists.woken.first;
            let is_late = self.waiter(first).woken_at.saturating_add(WAKE_UP_TIMEOUT) <= now;
            if !is_late || armed(Seeded::TrustWokenForEver) {
                break;
            }
            self.stop_waiting(first);
        }
    }

    /// Wakes up to `most` processes that wait for the queue. Those that began to wait last come first: few stay busy and
    /// many keep waiting, instead of each being a little busy.
    fn wake_for(&mut self, queue: u64, most: u32, now: i64, set_latch: &mut impl FnMut(u32)) {
        let mut left = most;
        let mut each = self.lists.waiting.first;
        while each != NOBODY && left > 0 {
            let waiter = self.waiter(each);
            let (next, is_wanted) = (waiter.next, waiter.waits_for(queue));
            if is_wanted {
                self.wake(each, now);
                set_latch(each);
                left -= 1;
            }
            each = next;
        }
    }

    /// Whether a process was woken that will look at the queue.
    fn is_in_flight(&self, queue: u64) -> bool {
        match queue {
            EVERY_QUEUE => self.lists.woken.length > 0,
            _ => self.waited_queue(queue).woken + self.waited_queue(EVERY_QUEUE).woken > 0,
        }
    }
}
