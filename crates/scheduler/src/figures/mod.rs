//! Figures by name: how many jobs of each queue, tenant, account and concurrency key are in which state, since when they wait,
//! and what has become of those that were. Of each batch, how many are in which state: a commit by which its last job may have
//! gone is known as such (see [`Figures::may_be_decided`]).
//!
//! 1. The states are what the tables say, from a count of the tables on, until something spoils that. A transaction that
//!    commits adds what it has changed, unless the count has seen it (see `counting`).
//! 2. Events are counted when transactions commit, and are never counted again.
//! 3. What a step costs does not depend on how many jobs or names there are.
//! 4. A name or a batch is forgotten when it has no jobs, no places are taken in its backlog, nothing of it has started or ended
//!    for a minute, and it has no statistics.

mod ages;
mod bin;
mod change;
mod commit;
mod count;
mod counting;
mod dues;
pub mod histogram;
mod kinds;
mod label;
mod memory;
mod minute;
mod name;
mod names;
mod owners;
mod room;
mod rounds;
mod stats;
mod text;
mod texts;
mod view;

pub use bin::Bin;
pub use change::{Change, EVENTS, Event, STATES, State, Times};
pub use count::Trust;
pub use counting::Numbers;
pub use dues::Dues;
pub use kinds::KINDS;
pub use label::{Label, Labels};
pub use memory::{FigurePools, Figures, FiguresHeader, FiguresMemory};
pub use name::{Id, Name};
pub use room::{Demand, FigureArray};
pub use stats::Stats;
pub use text::Text;
pub use view::{NameView, StatsView};
