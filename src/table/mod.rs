//! Reads and changes rows of `turnstile.job` and its history directly, by index and without a plan: with the columns
//! of a job, starting a plan costs more than the change. See docs/decisions/035-hot-paths-without-plans.md.
//!
//! That is done only where the executor would do nothing else ([`surroundings`]). What the executor does there,
//! constraints and indexes, is done here by its own functions. Everywhere else verbs run SQL statements instead.

pub mod backlog;
mod command;
mod constraints;
mod defaults;
mod executor;
pub mod figures;
mod history;
mod indexes;
pub mod locked;
mod multi_insert;
mod opened;
mod own_indexes;
pub mod parents;
pub mod places;
mod rows;
mod search;
mod slot;
mod slow_jobs;
mod surroundings;
pub mod triggers;
mod whole;

pub use command::{Command, command};
pub use history::{Ended, History, Partition, lock_history, partition, why_not_direct};
pub use opened::{Operation, Table};
pub use search::{Order, Search, Where};
pub use surroundings::{Jobs, lock_jobs};
pub use whole::visit_jobs;
