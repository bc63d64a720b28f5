//! Lanes and their nodes come and go, and those that do not fit take turns.

pub mod lane;
pub mod node;
pub mod overflow;
pub mod search;
