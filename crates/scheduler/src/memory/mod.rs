//! What is stored, and access to it slot by slot. Nothing here decides anything.

pub mod access;
pub mod capacity;
#[cfg(feature = "damage")]
mod damage;
pub mod due;
pub mod entry;
pub mod flags;
pub mod gate;
pub mod header;
pub mod index;
pub mod lane;
pub mod lease;
pub mod longest;
pub mod meter;
pub mod node;
pub mod outside;
pub mod pace;
pub mod path;
pub mod reservation;
pub mod sample;
pub mod scheduler;
pub mod share;
pub mod slab;
pub mod step;
pub mod vain;
