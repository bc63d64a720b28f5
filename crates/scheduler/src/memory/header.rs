//! The state that is stored once, by concern. All other state is in arrays.

use crate::memory::due::DueState;
use crate::memory::outside::OutsideState;
use crate::memory::vain::VainClaims;

/// What is not in an array. All zero is an empty scheduler, so fresh shared memory needs no set-up.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// Counts up whenever a lane is lowered, marked as unverified, or made.
    pub(crate) stamp: u64,
    pub(crate) queues: QueueState,
    pub(crate) idle_gates: IdleGates,
    pub(crate) settings: SettingsState,
    /// The end of a job may be announced before the job itself.
    pub(crate) rebuilding: bool,
    pub(crate) outside: OutsideState,
    pub(crate) tenants: TenantsBySize,
    pub(crate) clock: Clock,
    pub(crate) calendar: CalendarState,
    pub(crate) due: DueState,
    pub(crate) doubts: Doubts,
    pub(crate) vain_claims: VainClaims,
}

/// Lanes that may have become empty without a claim.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubts {
    pub lanes: u32,
    /// The slot at which the search for them stands.
    pub hand: u32,
}

/// The queues that have lanes, and the nodes above them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueState {
    pub count: u32,
    /// How many nodes there are above queues, and the first in their chain.
    pub tops: u32,
    pub first_top: u32,
}

/// The list of gates that nothing uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleGates {
    pub count: u32,
    pub first: u32,
    pub last: u32,
}

/// Tenant nodes by the number of their lanes: those that have from `2^n` on, below `2^(n + 1)`, are in the list `n`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TenantsBySize {
    pub firsts: [u32; 32],
}

/// What is known of the tables of settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SettingsState {
    /// The version that was given to a gate last.
    pub version: u32,
    /// Some sessions are paused, or may be.
    pub has_paused_sessions: bool,
    /// Any session may be paused: a rebuild has not read the tables yet.
    pub has_unread_sessions: bool,
}

/// The time, and what waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// The time of the last pick.
    pub now: i64,
    /// All starts since then are on record; 0: there was none yet.
    pub metered_since: i64,
    /// When the tables last lost how long a rate was in force that may have begun before that.
    pub lost_rate_at: i64,
    /// A job has started since then.
    pub has_started: bool,
    /// Timers that are set.
    pub timers: u32,
    /// When all queues were last claimed from together; 0: never.
    pub claimed_at: i64,
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
