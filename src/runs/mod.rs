//! A run: how it starts, how long it is held, and its one ending for complete, fail, cancel, discard and rescue.

pub mod by_statement; // how a claim starts jobs by statements
pub mod claimer; // the worker that claims, and for how long
pub mod end_waiting; // how jobs are ended from outside
pub mod ending; // how a job leaves the live jobs
pub mod finish; // what ends a run by failure
pub mod keeping; // whether a completed job leaves a row in the history
pub mod kept; // what the next run takes over from the one before
pub mod lane_rows; // the available rows of a lane
pub mod late_children; // children that were added once the others had ended
pub mod lease; // how long a claim holds a job
pub mod look_ahead; // the next jobs of a lane
pub mod opening; // parents whose turn has come
pub mod owner; // the connection that a run is bound to
pub mod run; // what a claim wants, and what its jobs get
pub mod start; // the rows of a claim
