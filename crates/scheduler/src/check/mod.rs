//! Reads the whole scheduler, and changes nothing.

pub mod arrays;
pub mod audit;
pub mod outlook;
pub mod replica;
pub mod view;
