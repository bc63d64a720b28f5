//! What a window holds besides the scheduler.

use super::failed_runs::FailedRuns;
use super::follow_ups::FollowUps;
use super::owners::GoneOwners;
use super::patrol::Patrol;
use super::pools::Sizes;
use super::read::Read;
use super::recurring::Recurring;
use super::set_aside::SetAside;

/// How far the memory of a database can be trusted.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Must be rebuilt before use.
    #[default]
    Stale,
    /// A backend is reading the tables; commits are applied, claims wait.
    Rebuilding,
    Ready,
}

/// What a database's window holds besides the scheduler.
#[repr(C)]
#[derive(Debug, Default)]
pub struct DatabaseState {
    /// How many slots there are to open.
    pub(super) sizes: Sizes,
    /// When the system last refused memory.
    pub(super) refused_at: i64,
    pub phase: Phase,
    /// Set while a step is under way. If it is found set, the step was cut short.
    pub(super) dirty: bool,
    /// The rebuild that the memory comes from.
    pub generation: u64,
    pub gone: GoneOwners,
    pub follow_ups: FollowUps,
    pub failed_runs: FailedRuns,
    pub patrol: Patrol,
    pub recurring: Recurring,
    pub(super) read: Read,
    /// When a claim last checked how far positions have been drawn.
    pub sequence_seen_at: i64,
    /// When a claim last looked for lanes that are empty.
    pub lanes_looked_at: i64,
    pub(super) set_aside: SetAside,
    /// Transactions from here on, and the listed ones, were not visible to the last rebuild.
    pub rebuild_xmax: u64,
    pub rebuild_running: u32,
    /// Transactions that have told a part of what they have changed.
    pub half_told: u32,
}
