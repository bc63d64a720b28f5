//! What several pages show.

pub mod links;
