//! What holds for the modules together, and tables that are too long to stand in them.

#![allow(clippy::indexing_slicing, clippy::panic)]

mod addresses;
mod fuzz;
mod garbage;
mod random;
mod requests;
mod resolver;
mod urls;
