//! Decides which lane of jobs runs next. Pure Rust that knows nothing of PostgreSQL.
//!
//! # Invariants
//!
//! 1. A lane is in exactly one place.
//! 2. The head of a lane is at or before the position of each of its committed available jobs, except for jobs that
//!    an open claim has locked. If that claim aborts, it puts the head back.
//! 3. A gate holds as many jobs as run behind it by what is committed, plus what open transactions have reserved. A
//!    claim never takes it past its limit.
//! 4. Memory may be lost or distrusted at any time. It is rebuilt from the tables, and what open transactions have
//!    reserved is kept.
//! 5. A pick returns the lane that a scan over all lanes would return.
//! 6. What a step for one queue costs does not depend on how many jobs, lanes, sessions or keys other queues and
//!    tenants have.
//! 7. A job can always be announced. Where the arrays are full, its lane or one of those who have the most is left to the
//!    tables. What is outside is on record by queue and tenant (see `lanes::outside`).
//! 8. Between two steps each array may have become longer, or shorter by slots that are not needed. No step depends on how
//!    long it was, and no slot ever moves.
//!
//! All state lives in arrays that the caller provides: shared memory in the server, vectors in tests. Links are indexes, so
//! nothing here allocates or holds a pointer. The caller asks how many slots are missing for what comes next
//! ([`Scheduler::shortage`]) and which it can take back ([`Scheduler::trim`]). Every step takes O(log n) time; a pick takes
//! that for each entry that it has to move. An index grows by a bucket or two with a slot that it gets. Where an invariant is broken, a step returns [`Fault::Corrupt`] and does not panic.
//!
//! # Map
//!
//! Each folder uses only those above it, except that `figures`, `workers` and `waiting` use no other than the first three.
//!
//! | folder    | what it is for |
//! |-----------|----------------|
//! | `times`   | a second, a minute, and a time that never comes |
//! | `testing` | faults and panics that tests ask for |
//! | `memory`  | what is stored, and access to it slot by slot |
//! | `order`   | which lane comes first: ranks, fair shares of tenants, aging |
//! | `tree`    | the tree of places, and the heap in each of its nodes |
//! | `gates`   | gates: the jobs that they hold, rates, pauses, timers, settings |
//! | `lanes`   | lanes come and go; lanes that do not fit into memory |
//! | `due`     | when jobs of each queue fall due, and when their leases end |
//! | `claim`   | the steps of a claim: pick, reserve, settle, commit or abort; the rebuild |
//! | `check`   | reads everything and changes nothing |
//! | `figures` | how many jobs each name and each batch has, and what has become of them |
//! | `workers` | who claims, and who did so last |
//! | `waiting` | processes that wait for work, and channels that clients listen to |
//! | `probes`  | what only tests ask of the scheduler |
//!
//! # The tree of places
//!
//! Each queue has a tree:
//!
//! ```text
//! queue ─┬─ tenant ─┬─ account ─┬─ batch ─┬─ group of a concurrency key ── unique key ── session ── lane
//!        │          │           │         └─ …
//!        │          │           └─ …
//!        │          └─ …
//!        └─ concurrency key ── groups that were found waiting for the key
//! ```
//!
//! A lane has those of the levels that its job has. A batch has a node below each account, tenant and queue from which it has
//! jobs, and one gate for all of them. Jobs without a tenant have the node of a tenant that has no gate.
//! Each node is in the heap of its parent exactly while its gate is open and its own heap is not empty. The parent of a
//! queue is the node of the interval in which its jobs age, or that of the queues whose settings are unread (see
//! `tree::queues`); these have no parent.
//!
//! A key group gathers the lanes and sessions that share a home (a tenant, an account or a batch) and a concurrency key. It is
//! the only node with two places. A group that is reached at home while its key is closed moves below the key. A group
//! that is reached through its key while its home is closed moves home. Every node above a lane belongs to one of the
//! lane's own gates, so a lane with room at all of its gates can always be reached from the root. This is invariant 5.
//!
//! A session waits where its first lane would, so that lane must not be empty. If the lanes of a session pass
//! different gates, and it is not certain that the first of them has a job at its head, the session waits in the heap of
//! its tenant. A pick that reaches it there asks the caller to look at the lane.

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

mod check;
mod claim;
mod due;
pub mod figures;
mod gates;
mod lanes;
mod memory;
mod order;
pub mod probes;
pub mod testing;
pub mod times;
mod tree;
pub mod waiting;
pub mod workers;

pub use check::outlook::{GateState, JobPlace, LaneAhead, LaneSample};
pub use check::replica::Replica;
pub use check::view::{GateView, LaneView, OutsideView};
pub use claim::look::{LooksLeft, ToLookAt};
pub use claim::pick::{Pick, Picked};
pub use claim::rebuild::READ_AHEAD;
pub use claim::settle::{MANY_HELD, Outcome};
pub use claim::spacing::{Looked, Spacing, end_of_range, wider};
pub use due::leases::LeaseView;
pub use due::times::DueView;
pub use gates::hold::Credit;
pub use gates::settings::{GateSettings, LONG_AGO, Rate, UnknownGate};
pub use lanes::round::Part;
pub use lanes::search::Search;
pub use memory::capacity::{Array, Capacity};
pub use memory::due::DueQueue;
pub use memory::entry::Entry;
pub use memory::gate::{Gate, GateKind, Limit};
pub use memory::header::Header;
pub use memory::lane::{EVERY_QUEUE, Lane, LaneKey, LaneSpec, group_range_of_queue};
pub use memory::lease::{Lease, RunId};
pub use memory::longest::LONGEST_NAME;
pub use memory::meter::Meter;
pub use memory::node::Node;
pub use memory::outside::{OUTSIDE_BUCKETS, OUTSIDE_RECORDS, Outside};
pub use memory::reservation::{Reservation, ReservationId};
pub use memory::sample::Sample;
pub use memory::scheduler::{Memory, Pools, Scheduler};
pub use memory::share::Share;
pub use memory::step::{Fault, Step};
