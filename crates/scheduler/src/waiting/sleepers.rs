//! Who sleeps and who was woken, in shared memory: a place for each process, two lists of them, and how many there
//! are for each queue.

use crate::memory::lane::EVERY_QUEUE;
use crate::waiting::{MOST_QUEUES, Waiting};

pub(crate) const NOBODY: u32 = 0;

#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Up,
    Asleep,
    Woken,
}

/// One place for each process. The one with number n is in slot n - 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sleeper {
    pub(crate) queues: [u64; MOST_QUEUES],
    pub(crate) count: u32,
    pub(crate) state: State,
    /// He can run transactions when the alarm goes, without keeping anything locked while he sleeps on.
    pub(crate) keeps_time: bool,
    pub(crate) woken_at: i64,
    pub(crate) next: u32,
    pub(crate) prev: u32,
}

/// A queue that somebody waits for, or was woken while he did.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    pub(crate) queue: u64,
    pub(crate) asleep: u32,
    pub(crate) woken: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct List {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) length: u32,
}

/// What is not in an array; all zero: nobody sleeps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Night {
    pub(crate) asleep: List,
    pub(crate) woken: List,
    pub(crate) watched: u32,
    /// The one sleeper who wakes by the clock for all.
    pub(crate) keeper: u32,
    /// When he will.
    pub(crate) alarm: i64,
    /// When he last did.
    pub(crate) rang_at: i64,
}

impl Sleeper {
    pub(crate) fn queues(&self) -> &[u64] {
        self.queues.get(..self.count as usize).unwrap_or_default()
    }

    pub const NOBODY: Self = Self {
        queues: [0; MOST_QUEUES],
        count: 0,
        state: State::Up,
        keeps_time: false,
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
    pub(crate) fn sleeper(&self, who: u32) -> &Sleeper {
        let at = (who as usize).wrapping_sub(1);
        self.sleepers.get(at).unwrap_or(&Sleeper::NOBODY)
    }

    pub(crate) fn slot(&mut self, who: u32) -> Option<&mut Sleeper> {
        self.sleepers.get_mut((who as usize).wrapping_sub(1))
    }

    pub(crate) fn watch(&self, queue: u64) -> Watched {
        let used = self.watched.iter().take(self.night.watched as usize);
        let found = used.into_iter().find(|each| each.queue == queue);
        found.copied().unwrap_or_default()
    }

    fn list(&mut self, state: State) -> &mut List {
        match state {
            State::Asleep => &mut self.night.asleep,
            State::Woken | State::Up => &mut self.night.woken,
        }
    }

    /// Sleepers are listed from the latest on, the woken from the earliest on.
    pub(crate) fn enter(&mut self, who: u32, state: State) {
        let List { first, last, .. } = *self.list(state);
        let (prev, next) = match state {
            State::Asleep => (NOBODY, first),
            State::Woken | State::Up => (last, NOBODY),
        };
        if let Some(sleeper) = self.slot(who) {
            (sleeper.state, sleeper.prev, sleeper.next) = (state, prev, next);
        }
        self.link(state, prev, next, (who, who));
        self.list(state).length += 1;
    }

    pub(crate) fn leave(&mut self, who: u32) {
        let Sleeper {
            state, prev, next, ..
        } = *self.sleeper(who);
        self.link(state, prev, next, (next, prev));
        let list = self.list(state);
        list.length = list.length.wrapping_sub(1);
        if let Some(sleeper) = self.slot(who) {
            sleeper.state = State::Up;
        }
        if self.night.keeper == who {
            self.night.keeper = NOBODY;
        }
    }

    /// What comes behind `prev` and before `next` from now on.
    fn link(&mut self, state: State, prev: u32, next: u32, between: (u32, u32)) {
        match self.slot(prev) {
            Some(sleeper) => sleeper.next = between.0,
            None => self.list(state).first = between.0,
        }
        match self.slot(next) {
            Some(sleeper) => sleeper.prev = between.1,
            None => self.list(state).last = between.1,
        }
    }

    pub(crate) fn count(&mut self, who: u32, asleep: i32, woken: i32) {
        let Sleeper { queues, count, .. } = *self.sleeper(who);
        for queue in queues.into_iter().take(count as usize) {
            let at = self.find_or_add_watch(queue);
            let Some(watched) = self.watched.get_mut(at) else {
                continue;
            };
            watched.asleep = watched.asleep.saturating_add_signed(asleep);
            watched.woken = watched.woken.saturating_add_signed(woken);
            if (watched.asleep, watched.woken) == (0, 0) {
                self.night.watched -= 1;
                self.watched.swap(at, self.night.watched as usize);
            }
        }
    }

    fn find_or_add_watch(&mut self, queue: u64) -> usize {
        let used = self.night.watched as usize;
        let mut watched = self.watched.iter().take(used);
        if let Some(at) = watched.position(|each| each.queue == queue) {
            return at;
        }
        if let Some(watched) = self.watched.get_mut(used) {
            *watched = Watched {
                queue,
                ..Watched::default()
            };
            self.night.watched += 1;
        }
        used
    }
}
