//! Why a job waits, and when it will start: said by what the next claim would do, without doing it.

mod blocked; // jobs that wait for others
mod blocker;
pub mod circle; // jobs that wait for each other
mod counts; // jobs that come before another
pub mod estimate;
mod gates; // gates that are closed
mod holders; // which jobs are in the way
pub mod job;
mod lane_tables; // what the tables say of lanes
mod order; // what comes first
pub mod summary;
pub mod why;
