//! Lanes and their nodes come and go, and those that do not fit take turns.

pub mod doubt;
pub mod lane;
pub mod node;
pub mod outside;
pub mod room;
pub mod round;
pub mod search;
pub mod tenants;
