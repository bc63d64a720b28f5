//! A job: its row and columns, the kinds of gates, the key of its lane, its queue, its unique key.

pub mod claim_epoch; // which claims a crash may take back
pub mod column; // the numbers of its columns
pub mod gates; // the kinds of gates
pub mod hosts;
pub mod lane; // the keys of lanes
pub mod later; // columns that came with a later release
pub mod numbers; // their ids and positions
pub mod patterns; // of kinds
pub mod queue_settings; // what is set for queues
pub mod queues; // their names by their keys
pub mod refused; // rows that are not those of a job
pub mod routes; // which queue the jobs of a kind go to
pub mod row; // a job as the scheduler sees it
pub mod state; // in which state it is, and how it has ended
pub mod tables; // the tables that memory is made of
pub mod unique; // how long a job holds its unique key
pub mod values; // what a producer gives a job
