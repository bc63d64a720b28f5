//! Who sleeps until there is work, and who was woken for it.
//!
//! The rule: where a queue has work and a sleeper, a wake-up is in flight. It is from the moment that a
//! sleeper is woken until he has claimed, has lain down again, has gone, or has let [`PATIENCE`] pass.
//! Whoever ends a wake-up, or gives a queue work, has the rule looked at before the lock is given back
//! ([`Waiting::tend`]); so nobody who forgets to claim leaves work lying beside a sleeper.

pub mod listening;
mod sleepers;

use crate::memory::lane::EVERY_QUEUE;
use crate::testing::faults::{Seeded, armed};
use sleepers::{NOBODY, State};
pub use sleepers::{Night, Sleeper, Watched};

/// Queues that one sleeper can wait for.
pub const MOST_QUEUES: usize = 32;
/// How long (in microseconds) a wake-up counts that nobody makes use of.
pub const PATIENCE: i64 = 100_000;
/// A time that never comes.
pub const NEVER: i64 = i64::MAX;

pub struct Waiting<'m> {
    pub night: &'m mut Night,
    pub sleepers: &'m mut [Sleeper],
    /// As long as all sleepers' queues together.
    pub watched: &'m mut [Watched],
}

impl Waiting<'_> {
    pub fn is_anybody_asleep(&self) -> bool {
        self.night.asleep.length > 0
    }

    /// Whether somebody sleeps who would be woken for the queue.
    pub fn is_waited_for(&self, queue: u64) -> bool {
        self.is_anybody_asleep()
            && [queue, EVERY_QUEUE]
                .iter()
                .any(|&queue| self.watch(queue).asleep > 0)
    }

    pub fn is_asleep(&self, who: u32) -> bool {
        self.sleeper(who).state == State::Asleep
    }

    /// Whether one who looks at his queues is to claim from them; if so, that counts as a wake-up. Who was not asleep
    /// takes what he finds, though others are on their way: they may never come. Who sleeps and is not woken
    /// leaves it to them until his time is over.
    pub fn is_to_claim(
        &mut self,
        who: u32,
        queues: &[u64],
        is_time_over: bool,
        now: i64,
        has_work: impl Fn(u64) -> bool,
    ) -> bool {
        let is_for_others = |queue| armed(Seeded::LeaveWorkToOthers) && self.is_in_flight(queue);
        let is_awake = !self.is_asleep(who) || is_time_over;
        let mut queues = queues.iter();
        let finds = is_awake && queues.any(|&queue| has_work(queue) && !is_for_others(queue));
        if finds {
            self.wake(who, now);
        }
        finds
    }

    /// He has found nothing in these queues, under the lock that is still held.
    pub fn lie_down(&mut self, who: u32, queues: &[u64], keeps_time: bool) {
        if self.is_asleep(who) {
            return;
        }
        self.get_up(who);
        let mut sleeper = Sleeper::NOBODY;
        sleeper.keeps_time = keeps_time;
        for (slot, &queue) in sleeper.queues.iter_mut().zip(queues) {
            *slot = queue;
            sleeper.count += 1;
        }
        if let Some(slot) = self.slot(who) {
            *slot = sleeper;
            self.enter(who, State::Asleep);
            self.count(who, 1, 0);
        }
    }

    /// He sleeps no more, and a wake-up of his is over.
    pub fn get_up(&mut self, who: u32) {
        match self.sleeper(who).state {
            State::Up => return,
            State::Asleep => self.count(who, -1, 0),
            State::Woken => self.count(who, 0, -1),
        }
        self.leave(who);
    }

    /// From now on he counts as woken.
    pub fn wake(&mut self, who: u32, now: i64) {
        if !self.is_asleep(who) {
            return;
        }
        self.leave(who);
        self.enter(who, State::Woken);
        self.count(who, -1, 1);
        if let Some(slot) = self.slot(who) {
            slot.woken_at = now;
        }
    }

    /// Wakes who has to be woken: `work` more jobs can be claimed from queues, and by the rule. Each who is
    /// to look at the clock or at his queues is told to `ring`.
    pub fn tend(
        &mut self,
        now: i64,
        work: &[(u64, u32)],
        next_event: i64,
        has_work: impl Fn(u64) -> bool,
        mut ring: impl FnMut(u32),
    ) {
        if !self.is_anybody_asleep() {
            return;
        }
        self.forget_late_wakers(now);
        for &(queue, jobs) in work {
            if has_work(queue) {
                self.wake_for(queue, jobs, now, &mut ring);
            }
        }
        for at in 0..self.night.watched as usize {
            let watched = self.watched.get(at).copied().unwrap_or_default();
            let is_kept = watched.asleep == 0 || self.is_in_flight(watched.queue);
            if !is_kept && !armed(Seeded::LeaveWorkBehind) && has_work(watched.queue) {
                self.wake_for(watched.queue, 1, now, &mut ring);
            }
        }
        self.keep_time(next_event, &mut ring);
    }

    /// Wakes one sleeper of each queue, or all if memory cannot say who has work.
    pub fn wake_many(&mut self, all: bool, now: i64, mut ring: impl FnMut(u32)) {
        for at in 0..self.night.watched as usize {
            let queue = self.watched.get(at).map_or(EVERY_QUEUE, |each| each.queue);
            if all || !self.is_in_flight(queue) {
                self.wake_for(queue, if all { u32::MAX } else { 1 }, now, &mut ring);
            }
        }
    }

    /// What they wait for is no more.
    pub fn send_all_away(&mut self, mut ring: impl FnMut(u32)) {
        for who in 1..=u32::try_from(self.sleepers.len()).unwrap_or(0) {
            if self.sleeper(who).state != State::Up {
                self.get_up(who);
                ring(who);
            }
        }
    }

    pub fn keeps_time(&self, who: u32) -> bool {
        self.night.keeper == who
    }

    /// When the keeper has to look by himself.
    pub fn alarm(&self) -> i64 {
        self.night.alarm
    }

    /// The keeper is awake: whoever tends next sets the alarm anew.
    pub fn stop_alarm(&mut self) {
        self.night.alarm = NEVER;
    }

    /// The keeper sees to the events that are due.
    pub fn note_alarm(&mut self, now: i64) {
        self.night.rang_at = now;
    }

    /// Events that were due when the alarm went, and still are, wait for a while.
    pub fn alarm_for(&self, event: i64) -> i64 {
        match event <= self.night.rang_at {
            true => self.night.rang_at.saturating_add(PATIENCE),
            false => event,
        }
    }

    fn keep_time(&mut self, next_event: i64, ring: &mut impl FnMut(u32)) {
        if !self.is_anybody_asleep() {
            return;
        }
        let latest = match self.night.woken.first {
            NOBODY => NEVER,
            first => self.sleeper(first).woken_at.saturating_add(PATIENCE),
        };
        let event = self.alarm_for(next_event);
        if self.night.keeper == NOBODY && !armed(Seeded::LeaveTimeUnkept) {
            self.night.keeper = self.choose_keeper();
            self.night.alarm = NEVER;
        }
        // Wake-ups end by themselves as a rule: it is enough to look after them roughly in time.
        if event < self.night.alarm || latest.saturating_add(PATIENCE) < self.night.alarm {
            self.night.alarm = event.min(latest);
            ring(self.night.keeper);
        }
    }

    /// Whoever can run transactions, else anybody.
    fn choose_keeper(&self) -> u32 {
        let mut each = self.night.asleep.first;
        while each != NOBODY && !self.sleeper(each).keeps_time {
            each = self.sleeper(each).next;
        }
        match each {
            NOBODY => self.night.asleep.first,
            keeper => keeper,
        }
    }

    fn forget_late_wakers(&mut self, now: i64) {
        while self.night.woken.first != NOBODY {
            let first = self.night.woken.first;
            let is_late = self.sleeper(first).woken_at.saturating_add(PATIENCE) <= now;
            if !is_late || armed(Seeded::TrustWokenForEver) {
                break;
            }
            self.get_up(first);
        }
    }

    /// Wakes up to so many who wait for the queue, those first who lay down last: few stay busy and many
    /// asleep, rather than each a little.
    fn wake_for(&mut self, queue: u64, most: u32, now: i64, ring: &mut impl FnMut(u32)) {
        let mut left = most;
        let mut each = self.night.asleep.first;
        while each != NOBODY && left > 0 {
            let sleeper = self.sleeper(each);
            let (next, is_wanted) = (sleeper.next, sleeper.waits_for(queue));
            if is_wanted {
                self.wake(each, now);
                ring(each);
                left -= 1;
            }
            each = next;
        }
    }

    /// Whether somebody was woken who will look at the queue.
    fn is_in_flight(&self, queue: u64) -> bool {
        match queue {
            EVERY_QUEUE => self.night.woken.length > 0,
            _ => self.watch(queue).woken + self.watch(EVERY_QUEUE).woken > 0,
        }
    }
}
