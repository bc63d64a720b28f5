//! What several pages show.

pub mod empty;
pub mod figures;
pub mod gate;
pub mod gate_list;
mod interval;
pub mod levers;
pub mod limits;
pub mod links;
pub mod listing;
pub mod past;
pub mod statistics;
pub mod why;
