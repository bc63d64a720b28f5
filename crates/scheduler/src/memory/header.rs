//! The state that is stored once, by concern. All other state is in arrays.

use crate::memory::overflow::Outside;

/// What is not in an array. All zero is an empty scheduler, so fresh shared memory needs no set-up.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// Drawn anew whenever a lane is lowered, doubted or made.
    pub(crate) stamp: u64,
    /// The first in the chain of the queues that have lanes.
    pub(crate) first_queue: u32,
    pub(crate) idle_gates: IdleGates,
    pub(crate) settings: SettingsState,
    /// The end of a job may be announced before the job itself.
    pub(crate) rebuilding: bool,
    pub(crate) overflow: Outside,
    pub(crate) clock: Clock,
    pub(crate) calendar: CalendarState,
}

/// The list of gates that nothing uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleGates {
    pub count: u32,
    pub first: u32,
    pub last: u32,
}

/// What is known of the tables of settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SettingsState {
    /// The version that was given to a gate last.
    pub version: u32,
    /// Some sessions have settings.
    pub has_paused_sessions: bool,
    /// Sessions may have settings: a rebuild has not read the tables yet.
    pub has_unread_sessions: bool,
}

/// The time, and what waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The time of the last pick.
    pub now: i64,
    /// All starts since then are on record; 0: there was none yet.
    pub metered_since: i64,
    /// Timers that are set.
    pub timers: u32,
}

/// How the calendar is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CalendarState {
    /// How many samples there are.
    pub samples: u32,
    /// How far apart samples are at least.
    pub sample_interval: i64,
    /// The time from which intervals are counted.
    pub epoch: i64,
    /// The last position that is known.
    pub newest: i64,
}
