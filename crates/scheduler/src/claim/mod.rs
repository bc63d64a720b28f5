//! The steps of a claim: pick a lane, reserve room, take what was found, commit or abort.

pub mod all_queues;
pub mod bound;
pub mod charge;
pub mod descend;
pub mod look;
pub mod pick;
pub mod ready;
pub mod rebuild;
pub mod reservation;
pub mod settle;
pub mod spacing;
