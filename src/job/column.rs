//! Attribute numbers of `turnstile.job`, fixed by the order of its columns in `sql/schema/tables/job.sql`. Later columns are found by
//! name: see [`crate::job::later`].

pub const ID: usize = 1;
pub const LANE: usize = 2;
pub const LANE_GROUP: usize = 3;
pub const POSITION: usize = 4;
pub const PRIORITY: usize = 5;
pub const RUN_AT: usize = 6;
pub const LEASE_EXPIRES_AT: usize = 7;
pub const STATE: usize = 8;
pub const HOLDS_SESSION: usize = 9;
pub const QUEUE: usize = 10;
pub const TENANT: usize = 11;
pub const ACCOUNT: usize = 12;
pub const SESSION: usize = 13;
pub const CONCURRENCY_KEY: usize = 14;
pub const UNIQUE_KEY: usize = 15;
pub const UNIQUE_MODE: usize = 16;
pub const KIND: usize = 17;
pub const ATTEMPT: usize = 18;
pub const MAX_ATTEMPTS: usize = 19;
pub const UNCOUNTED: usize = 20;
pub const PAYLOAD: usize = 21;
pub const WORKER: usize = 22;
pub const OWNER_PID: usize = 23;
pub const OWNER_STARTED_AT: usize = 24;
pub const CLAIMED_AT: usize = 25;
pub const CANCEL_REQUESTED_AT: usize = 26;
pub const METADATA: usize = 29;
pub const CREATED_AT: usize = 31;

/// The columns that each new job has a value for.
pub const OF_NEW_JOBS: [usize; 20] = [
    ID,
    LANE,
    LANE_GROUP,
    POSITION,
    PRIORITY,
    RUN_AT,
    STATE,
    HOLDS_SESSION,
    QUEUE,
    TENANT,
    ACCOUNT,
    SESSION,
    CONCURRENCY_KEY,
    KIND,
    ATTEMPT,
    MAX_ATTEMPTS,
    UNCOUNTED,
    PAYLOAD,
    METADATA,
    CREATED_AT,
];
