//! Verbs for upkeep, by hand or by a schedule.

pub mod check;
pub mod prune;
pub mod rescue;
