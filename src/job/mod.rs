//! A job: its row and columns, the keys of its lane, its queue, its unique key.

pub mod lane; // the keys of lanes and gates
pub mod routes; // which queue the jobs of a kind go to
pub mod row; // a job as the scheduler sees it
pub mod unique; // how long a job holds its unique key
pub mod values; // what a producer gives a job
