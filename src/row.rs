//! A row of `turnstile.job` as the scheduler sees it.

use crate::lane::{Names, session_key};
use crate::trigger::RawRow;
use turnstile_scheduler::LaneSpec;

/// Attribute numbers, fixed by the order of columns in `sql/schema/job.sql`.
mod column {
    pub const LANE: usize = 2;
    pub const POSITION: usize = 3;
    pub const PRIORITY: usize = 4;
    pub const RUN_AT: usize = 5;
    pub const STATE: usize = 6;
    pub const HOLDS_SESSION: usize = 7;
    pub const QUEUE: usize = 8;
    pub const TENANT: usize = 9;
    pub const ACCOUNT: usize = 10;
    pub const SESSION: usize = 11;
    pub const CONCURRENCY_KEY: usize = 12;
}

pub struct JobRow {
    pub spec: LaneSpec,
    pub position: i64,
    pub available: bool,
    pub running: bool,
    /// When a job that was put off falls due.
    pub waits_until: Option<i64>,
    /// A spec with only the session's gate: the job holds its session while it waits to be retried.
    pub held_session: Option<LaneSpec>,
}

impl RawRow {
    /// The columns that [`Self::read`] needs.
    pub const COLUMNS: usize = column::CONCURRENCY_KEY;

    pub fn is_available_in(&self, lane: u64) -> bool {
        self.text(column::STATE) == Some("available")
            && self.int8(column::LANE) == Some(lane.cast_signed())
    }

    pub fn is_running(&self) -> bool {
        self.text(column::STATE) == Some("running")
    }

    pub fn read(&self) -> JobRow {
        let state = self.text(column::STATE).unwrap_or_default();
        let holds_session = self.boolean(column::HOLDS_SESSION).unwrap_or(false);
        let session = self.text(column::SESSION);
        let names = Names {
            queue: self.text(column::QUEUE).unwrap_or_default(),
            tenant: self.text(column::TENANT),
            account: self.text(column::ACCOUNT),
            session: session.filter(|_| !holds_session),
            concurrency_key: self.text(column::CONCURRENCY_KEY),
        };
        let spec = names.lane(self.int4(column::PRIORITY).unwrap_or(0));
        let put_off = matches!(state, "scheduled" | "retryable");
        JobRow {
            spec,
            position: self.int8(column::POSITION).unwrap_or(0),
            available: state == "available",
            running: state == "running",
            waits_until: self.int8(column::RUN_AT).filter(|_| put_off),
            held_session: session
                .filter(|_| holds_session)
                .map(|name| only_session(session_key(spec.queue, spec.tenant, name))),
        }
    }
}

/// Stands for a held session among the lanes: no job has it as its lane.
pub fn only_session(session: u64) -> LaneSpec {
    LaneSpec {
        lane: session,
        session,
        ..LaneSpec::default()
    }
}
