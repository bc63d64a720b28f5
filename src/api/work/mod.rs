//! Verbs for workers.

pub mod alive;
pub mod claim;
pub mod claimer;
pub mod complete;
pub mod fail;
pub mod listen_channel;
pub mod put_back;
pub mod wait;
