//! The tree of places: each node has a heap of the entries that wait in it.

pub mod heap;
pub mod leftist;
pub mod members;
pub mod next;
pub mod place;
pub mod queues;
pub mod rerank;
