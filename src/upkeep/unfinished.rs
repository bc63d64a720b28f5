//! Jobs that wait for others and could not be seen to in one go: they are looked at again.

use crate::pg::error::Result;
use crate::pg::server;
use crate::shmem::{self, FollowUp, LOCKED_AGAIN, Walk};
use pgrx::pg_sys;

/// What has to be looked at again: at once where there was too much, later where others have it.
#[derive(Default)]
pub struct Unfinished {
    pub now: Vec<i64>,
    pub later: Vec<i64>,
    /// All jobs from there on.
    pub walk: Option<Walk>,
}

impl Unfinished {
    pub fn put_back(self, job_table: pg_sys::Oid) -> Result<()> {
        let (now, later) = (
            FollowUp {
                jobs: self.now,
                walk: self.walk,
                is_lost: false,
                singly: false,
            },
            FollowUp {
                jobs: self.later,
                walk: None,
                is_lost: false,
                singly: false,
            },
        );
        if now.is_empty() && later.is_empty() {
            return Ok(());
        }
        // They are as good as noted by the commit: another claim would find nothing before it.
        shmem::with(job_table, |memory| {
            let again = server::now().saturating_add(LOCKED_AGAIN);
            let follow_ups = &mut memory.state.follow_ups;
            follow_ups.put_back(&now, i64::MIN);
            follow_ups.put_back(&later, again);
            Ok(())
        })
    }
}
