//! The pages: each reads what it shows and draws it as regions, of which some are live.

pub mod batch;
pub mod batches;
pub mod change;
pub mod failures;
pub mod health;
pub mod job;
pub mod jobs;
pub mod keys;
pub mod overview;
pub mod parts;
pub mod preview;
pub mod problem;
pub mod queue;
pub mod queues;
pub mod recurring;
pub mod tenant;
pub mod tenants;
pub mod workers;
