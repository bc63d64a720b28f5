//! Fair share as the design says it, by counting.

use std::collections::HashMap;

use turnstile_scheduler::LaneSpec;

const START: u64 = 1 << 24;

#[derive(Clone, Copy, Default)]
struct Share {
    /// Where the tenant's last start ended.
    end: u64,
}

/// By queue, tenant and level; the clocks by queue and level.
#[derive(Clone, Default)]
pub struct Fairness {
    /// How many shares and clocks are told apart.
    room: usize,
    shares: HashMap<(u64, u64, i32), Share>,
    clocks: HashMap<(u64, i32), u64>,
}

pub fn cost(weight: u32) -> u64 {
    START / u64::from(weight)
}

fn key(spec: &LaneSpec, level: i32) -> (u64, u64, i32) {
    (spec.queue, spec.tenant, level)
}

impl Fairness {
    pub fn with_room(room: usize) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    pub fn start_over(&mut self) {
        *self = Self::with_room(self.room);
    }

    /// Whether the next start has all of them forgotten.
    pub fn is_full(&self) -> bool {
        self.shares.len() + self.clocks.len() + 2 > self.room
    }

    /// The tag of the tenant's next start: idle time gives no credit.
    pub fn tag(&self, spec: &LaneSpec, level: i32) -> u64 {
        self.end(spec, level).max(self.clock(spec, level))
    }

    /// The tag with which the tenant is served: where that has all begin again, the first one.
    pub fn tag_when_served(&self, spec: &LaneSpec, level: i32) -> u64 {
        match self.is_full() {
            true => 0,
            false => self.tag(spec, level),
        }
    }

    /// Returns what was charged for each of the starts.
    pub fn serve(&mut self, spec: &LaneSpec, level: i32, weight: u32, starts: usize) -> u64 {
        let tag = self.tag_when_served(spec, level);
        if self.is_full() {
            self.start_over();
        }
        self.clocks.insert((spec.queue, level), tag);
        self.shares.entry(key(spec, level)).or_default().end = tag + starts as u64 * cost(weight);
        cost(weight)
    }

    /// Where the tenant's last start ended.
    pub fn end(&self, spec: &LaneSpec, level: i32) -> u64 {
        let share = self.shares.get(&key(spec, level));
        share.map_or(0, |it| it.end)
    }

    pub fn clock(&self, spec: &LaneSpec, level: i32) -> u64 {
        let clock = self.clocks.get(&(spec.queue, level)).copied();
        clock.unwrap_or(0)
    }

    pub fn set_clock(&mut self, spec: &LaneSpec, level: i32, clock: u64) {
        if let Some(known) = self.clocks.get_mut(&(spec.queue, level)) {
            *known = clock;
        }
    }

    /// The start did not take place.
    pub fn take_back(&mut self, spec: &LaneSpec, level: i32, charged: u64) {
        self.shares.entry(key(spec, level)).or_default().end -= charged;
    }
}
