//! The lists of waiting and woken processes, in shared memory: a slot for each process, two lists of them, and how
//! many there are for each queue.

use crate::memory::lane::EVERY_QUEUE;

/// Queues that one process can wait for.
pub const MAX_QUEUES: usize = 32;

/// The number that no process has.
pub(crate) const NOBODY: u32 = 0;

#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WaitState {
    #[default]
    Awake,
    Waiting,
    Woken,
}

/// What is stored of each process. The process with the number n has slot n - 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub(crate) queues: [u64; MAX_QUEUES],
    pub(crate) count: u32,
    pub(crate) state: WaitState,
    /// It can run transactions when the alarm fires, and keeps nothing locked while it goes on waiting.
    pub(crate) can_keep_time: bool,
    pub(crate) woken_at: i64,
    pub(crate) next: u32,
    pub(crate) prev: u32,
}

/// A queue that processes wait for, or for which they were woken.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitedQueue {
    pub(crate) queue: u64,
    pub(crate) waiting: u32,
    pub(crate) woken: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct List {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) length: u32,
}

/// What is stored once. All zero: no process waits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitLists {
    pub(crate) waiting: List,
    pub(crate) woken: List,
    pub(crate) queues: u32,
    /// The one waiting process that wakes up by the clock, for all of them.
    pub(crate) timekeeper: u32,
    /// When it will.
    pub(crate) alarm: i64,
    /// When it last did.
    pub(crate) alarm_fired_at: i64,
}

pub struct Waiting<'m> {
    pub lists: &'m mut WaitLists,
    pub waiters: &'m mut [Waiter],
    /// Has as many slots as all waiters have for their queues.
    pub waited_queues: &'m mut [WaitedQueue],
}

impl Waiter {
    pub(crate) fn queues(&self) -> &[u64] {
        self.queues.get(..self.count as usize).unwrap_or_default()
    }

    pub const EMPTY: Self = Self {
        queues: [0; MAX_QUEUES],
        count: 0,
        state: WaitState::Awake,
        can_keep_time: false,
        woken_at: 0,
        next: NOBODY,
        prev: NOBODY,
    };

    pub(crate) fn waits_for(&self, queue: u64) -> bool {
        let mut queues = self.queues().iter();
        queues.any(|&own| own == queue || own == EVERY_QUEUE)
    }
}

impl Waiting<'_> {
    pub(crate) fn waiter(&self, who: u32) -> &Waiter {
        let at = (who as usize).wrapping_sub(1);
        self.waiters.get(at).unwrap_or(&Waiter::EMPTY)
    }

    pub(crate) fn slot(&mut self, who: u32) -> Option<&mut Waiter> {
        self.waiters.get_mut((who as usize).wrapping_sub(1))
    }

    pub(crate) fn waited_queue(&self, queue: u64) -> WaitedQueue {
        let used = self.waited_queues.iter().take(self.lists.queues as usize);
        let found = used.into_iter().find(|each| each.queue == queue);
        found.copied().unwrap_or_default()
    }

    fn list(&mut self, state: WaitState) -> &mut List {
        match state {
            WaitState::Waiting => &mut self.lists.waiting,
            WaitState::Woken | WaitState::Awake => &mut self.lists.woken,
        }
    }

    /// Waiting processes are listed from the latest on, woken ones from the earliest on.
    pub(crate) fn add_to_list(&mut self, who: u32, state: WaitState) {
        let List { first, last, .. } = *self.list(state);
        let (prev, next) = match state {
            WaitState::Waiting => (NOBODY, first),
            WaitState::Woken | WaitState::Awake => (last, NOBODY),
        };
        if let Some(waiter) = self.slot(who) {
            (waiter.state, waiter.prev, waiter.next) = (state, prev, next);
        }
        self.link(state, prev, next, (who, who));
        self.list(state).length += 1;
    }

    pub(crate) fn remove_from_list(&mut self, who: u32) {
        let Waiter {
            state, prev, next, ..
        } = *self.waiter(who);
        self.link(state, prev, next, (next, prev));
        let list = self.list(state);
        list.length = list.length.wrapping_sub(1);
        if let Some(waiter) = self.slot(who) {
            waiter.state = WaitState::Awake;
        }
        if self.lists.timekeeper == who {
            self.lists.timekeeper = NOBODY;
        }
    }

    /// Sets what comes after `prev` and what comes before `next`.
    fn link(&mut self, state: WaitState, prev: u32, next: u32, between: (u32, u32)) {
        match self.slot(prev) {
            Some(waiter) => waiter.next = between.0,
            None => self.list(state).first = between.0,
        }
        match self.slot(next) {
            Some(waiter) => waiter.prev = between.1,
            None => self.list(state).last = between.1,
        }
    }

    pub(crate) fn count(&mut self, who: u32, waiting: i32, woken: i32) {
        let Waiter { queues, count, .. } = *self.waiter(who);
        for queue in queues.into_iter().take(count as usize) {
            let at = self.find_or_add_queue(queue);
            let Some(counts) = self.waited_queues.get_mut(at) else {
                continue;
            };
            counts.waiting = counts.waiting.saturating_add_signed(waiting);
            counts.woken = counts.woken.saturating_add_signed(woken);
            if (counts.waiting, counts.woken) == (0, 0) {
                self.lists.queues -= 1;
                self.waited_queues.swap(at, self.lists.queues as usize);
            }
        }
    }

    fn find_or_add_queue(&mut self, queue: u64) -> usize {
        let used = self.lists.queues as usize;
        let mut counts = self.waited_queues.iter().take(used);
        if let Some(at) = counts.position(|each| each.queue == queue) {
            return at;
        }
        if let Some(counts) = self.waited_queues.get_mut(used) {
            *counts = WaitedQueue {
                queue,
                ..WaitedQueue::default()
            };
            self.lists.queues += 1;
        }
        used
    }
}
