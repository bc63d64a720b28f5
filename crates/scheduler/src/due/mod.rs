//! When jobs of each queue fall due, and when their leases end.
//!
//! Each claim promotes and rescues for its own queues. So memory keeps the times of each queue apart, and the queues in the
//! order of their next time: what falls due next anywhere is known at once.

mod heap;
pub mod leases;
mod order;
pub mod times;
