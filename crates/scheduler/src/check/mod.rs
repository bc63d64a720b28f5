//! Reads the whole scheduler, and changes nothing.

pub mod audit;
pub mod view;
