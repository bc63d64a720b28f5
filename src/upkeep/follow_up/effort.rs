//! How much one look after jobs that wait for others may do.

use crate::pg::server::SECOND;
use crate::transaction;

/// Jobs that are looked at together, and jobs of each that are changed in one transaction.
const AT_ONCE: usize = 64;
pub const CHUNK: i64 = 500;
const PATIENCE: i64 = 2 * SECOND;

/// How much a call may do.
#[derive(Clone, Copy)]
pub struct Effort {
    pub jobs: usize,
    pub chunk: i64,
    /// Nothing is done that others may still do before this time has passed.
    pub patience: i64,
}

impl Effort {
    /// What is changed stays locked until the transaction ends. So a claim inside a transaction block, which may stay open, does
    /// little, and only what neither other claims nor the background worker have done.
    pub fn of_claim() -> Self {
        match transaction::may_stay_open() {
            true => Self {
                jobs: 1,
                chunk: 20,
                patience: PATIENCE,
            },
            false => Self::of_worker(),
        }
    }

    pub fn of_worker() -> Self {
        Self {
            jobs: AT_ONCE,
            chunk: CHUNK,
            patience: 0,
        }
    }
}
