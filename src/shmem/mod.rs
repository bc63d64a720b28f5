//! Shared memory: one scheduler per database, each in a window of its own behind an LWLock.

mod access;
mod arrays;
mod backlog;
mod directory;
mod due;
mod failed_runs;
mod file;
mod follow_ups;
mod growth;
pub mod hooks;
pub mod latches;
mod layout;
mod locked;
mod notifier;
mod overdue;
mod owners;
mod patrol;
mod pools;
mod read;
mod recall;
mod recurring;
mod room;
mod set_aside;
pub mod sleeper;
mod slots;
mod state;
mod statistics_file;
mod stock;
mod uses;
mod wakeups;
mod window;
mod without_lock;

pub use access::{with, with_existing};
pub use backlog::{Admission, BOUNDED_KINDS, Bound, Means};
pub use due::{SEARCHED_AGAIN, Search};
pub use failed_runs::FailedRun;
pub use follow_ups::{FollowUp, Part, Walk};
pub use locked::Locked;
pub use notifier::{
    Owed, begin_notifier, database_of, end_notifier, end_visit, knows_recurring, note_sent, slots,
    start_smaller, take_lack, take_owed, tidy, visited,
};
pub use overdue::look;
pub use owners::{Gone, Owner};
pub use read::QueueSettings;
pub use recall::{FOUND, recall, remember, remember_bounds, remember_condition};
pub use set_aside::{LOCKED_AGAIN, Passed, rest_after};
pub use slots::release;
pub use state::Phase;
pub use stock::{FILL, Stock};
pub use uses::uses;
pub use without_lock::{
    Numbers, bounds_version, claim_epoch, may_lack_commits, provide, routes_version, stock,
};
