//! Decides which lane of jobs runs next.
//!
//! All state lives in fixed arrays that the caller provides (shared memory in the server, vectors
//! in tests); links are indexes, so nothing here allocates or holds a pointer. Every step is
//! O(log n), a pick for each unit that it has to move, and returns [`Fault::Corrupt`] instead of
//! panicking where an invariant is broken.
//!
//! The tree of places, per queue:
//!
//! ```text
//! queue ─┬─ tenant ─┬─ account ─┬─ bundle of a concurrency key ── unique key ── session ── lane
//!        │          │           └─ …
//!        │          └─ …
//!        └─ concurrency key ── bundles that were found waiting for the key
//! ```
//!
//! Each lane has those of the levels that its job has; jobs without tenant have a tenant's node without a gate.
//! Each node but the queue sits in the heap of its parent exactly while its gate is open and its own heap is not
//! empty. A bundle gathers what shares a home (tenant or account) and a concurrency key, and is the only node with
//! two places: one that is reached at home while its key is closed moves below the key, and one that is reached
//! through its key while its home is closed moves home. Every node above a lane belongs to one of the lane's own
//! gates, so a lane with room at all of its gates is always reachable from the root. That is rule 5 of the design.
//!
//! A session is a unit like a lane and waits where its first lane does, so that lane must not be empty. If
//! the lanes of a session pass different gates and it is in doubt whether the first has a job at its head,
//! the session sits in the tenant's own heap, and a pick that reaches it asks for a look at the lane.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod audit;
mod bits;
mod bound;
mod calendar;
#[cfg(feature = "damage")]
mod damage;
mod descend;
mod entry;
mod every;
#[cfg(feature = "faults")]
pub mod faults;
#[cfg(not(feature = "faults"))]
mod faults;
mod gate;
mod heap;
mod idle;
mod index;
#[cfg(feature = "fault_injection")]
pub mod injection;
mod lane;
pub mod listening;
mod memory;
mod meter;
mod node;
mod overflow;
mod pick;
mod place;
mod rank;
mod ready;
mod reservation;
mod search;
mod settle;
mod share;
mod sleepers;
mod terms;
mod timer;
pub mod waiting;
mod way;

pub use audit::{GateView, LaneView};
pub use calendar::Sample;
pub(crate) use entry::Kind;
pub use entry::{Entry, Lane, Node};
pub use every::EVERY_QUEUE;
pub use gate::{Gate, GateKind};
pub use lane::LaneSpec;
pub use memory::{Capacity, Header, Memory, Pools, Scheduler};
pub use meter::Meter;
pub use overflow::Part;
pub use pick::{Credit, Pick, Picked, UnknownGate};
pub(crate) use rank::Rank;
pub use reservation::{Reservation, ReservationId};
pub use search::Search;
pub use settle::Outcome;
pub use share::Share;
pub use terms::{Limit, Rate, Terms};

/// Why a step could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An invariant is broken: the memory must be rebuilt from the tables.
    Corrupt(&'static str),
    /// The arrays hold no more. The step may be half done: as after damage, the memory must be rebuilt.
    Full,
}

pub type Step<T> = Result<T, Fault>;

/// The index that stands for "none" in every array; slot 0 is never handed out.
pub(crate) const NONE: u32 = 0;
