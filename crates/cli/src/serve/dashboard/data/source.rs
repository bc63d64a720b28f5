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

/// A statement for each of the two: a role that may not read a view may not name it either.
pub struct Statement {
    pub mine: &'static str,
    pub status: &'static str,
}

impl Statement {
    pub fn of(&self, source: Source) -> &'static str {
        match source {
            Source::Mine => self.mine,
            Source::Status => self.status,
        }
    }
}

/// The text of `sql/$part.sql` for each part, one after the other.
macro_rules! parts {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/serve/dashboard/sql/",
            $part,
            ".sql"
        ))),+)
    };
}
pub(in crate::serve::dashboard) use parts;

/// The statement of these parts, which reads jobs as `seen`.
macro_rules! of_seen {
    ($($part:literal),+) => {
        $crate::serve::dashboard::data::source::Statement {
            mine: $crate::serve::dashboard::data::source::parts!("seen_mine", $($part),+),
            status: $crate::serve::dashboard::data::source::parts!("seen_status", $($part),+),
        }
    };
}
pub(in crate::serve::dashboard) use of_seen;

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
