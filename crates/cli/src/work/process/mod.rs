//! Commands as process groups, none of which outlives this program.
//!
//! `spawner` is the thread that starts them, `keeper` the process that ends them if this program was killed, `group` a command from
//! its start until it was reaped, `pid` its number, and `raw` what needs unsafe code.

mod group;
pub mod keeper;
mod pid;
mod raw;
mod spawner;

pub use group::{Ended, Group, Pipes};
pub use spawner::Spawner;
