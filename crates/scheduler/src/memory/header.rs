//! The state that is stored once, by concern. What comes in numbers is in arrays.

use crate::memory::overflow::Outside;

/// What is not in an array.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    pub(crate) stamp: u64,
    pub(crate) version: u32,
    pub(crate) idle: u32,
    pub(crate) idle_first: u32,
    pub(crate) idle_last: u32,
    /// The first in the chain of the queues that have lanes.
    pub(crate) first_queue: u32,
    pub(crate) outside: Outside,
    /// The slot whose lane was evicted last.
    pub(crate) hand: u32,
    /// Ends of jobs may be heard of before the jobs themselves.
    pub(crate) rebuilding: bool,
    /// Sessions may have terms in the tables: for certain, or as far as a rebuild knows yet.
    pub(crate) paused_sessions: bool,
    pub(crate) unread_sessions: bool,
    pub(crate) timers: u32,
    /// The time of the last pick.
    pub(crate) now: i64,
    /// All starts since then are on record; 0: none was yet.
    pub(crate) metered_since: i64,
    /// How many there are in the calendar, how far apart they are at least, and from when intervals are counted.
    pub(crate) samples: u32,
    pub(crate) sampled_every: i64,
    pub(crate) epoch: i64,
    /// The last position that is known.
    pub(crate) newest: i64,
}
