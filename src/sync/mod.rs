//! From tables to memory: what a transaction does to the scheduler when it ends, and how memory is rebuilt, compared
//! and filled.

pub mod aging; // how long jobs have waited
pub mod check; // memory compared with the tables
pub mod check_memory; // what memory has at one moment
mod check_tables; // what is wrong with the tables themselves
pub mod check_times; // the part of it that is about times
mod difference; // what the two do not agree on
pub mod dropped; // tells sleeping backends of DROP EXTENSION
pub mod gate_keys; // the hashes of gates that the tables have
pub mod gate_settings; // limits, rates and pauses, read when a claim first meets a gate
pub mod gate_states; // what gates let through now
pub mod held_session; // pauses of sessions that jobs hold
mod lane_changes; // lanes that a transaction has changed
pub mod leases; // those of all runs, read from the table
pub mod overflow; // more lanes than fit
mod parts; // what a transaction has changed, some at a time
pub mod rate_since; // since when a rate is in force
pub mod rebuild; // all of memory, from the tables
pub mod scan; // lanes of the tables, as statements read them
pub mod setting_triggers; // what changed settings mean to the scheduler
pub mod transaction_end; // commit and abort
