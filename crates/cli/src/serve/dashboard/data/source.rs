//! Where single jobs are read: as the role may see them, with payloads, or all of them without.

use super::super::view::View;
use crate::listener::Problem;

const SEES_ALL: &str = include_str!("../sql/sees_all.sql");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// turnstile.my_jobs
    Mine,
    /// turnstile.job_status
    Status,
}

impl Source {
    /// Of lists: that which shows more jobs. A payload is looked for where there are payloads.
    pub async fn of(view: &View, has_payload: bool) -> Result<Self, Problem> {
        if !view.can.reads("job_status") || has_payload {
            return Ok(Self::Mine);
        }
        if !view.can.payloads() || !view.can.reads("permissions") {
            return Ok(Self::Status);
        }
        let sees_all = view.row(SEES_ALL, &[]).await?.unwrap_or(false);
        Ok(if sees_all { Self::Mine } else { Self::Status })
    }
}
