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

#[cfg(test)]
mod tests {
    /// Statements of which there are two, since a role that may not read a view may not name it either: with payloads and without.
    const TWINS: [[&str; 2]; 5] = [
        [
            include_str!("../sql/jobs_mine.sql"),
            include_str!("../sql/jobs_status.sql"),
        ],
        [
            include_str!("../sql/count_mine.sql"),
            include_str!("../sql/count_status.sql"),
        ],
        [
            include_str!("../sql/failures_mine.sql"),
            include_str!("../sql/failures_status.sql"),
        ],
        [
            include_str!("../sql/ends_mine.sql"),
            include_str!("../sql/ends_status.sql"),
        ],
        [
            include_str!("../sql/children_mine.sql"),
            include_str!("../sql/children_status.sql"),
        ],
    ];
    /// What the one has more is about these.
    const MORE: [&str; 4] = ["payload", "error", "regexp_replace(", "AS line"];

    fn lines(text: &str) -> impl Iterator<Item = String> {
        let lines = text.lines().map(|line| line.trim().trim_end_matches(','));
        lines
            .filter(|line| !line.starts_with("--"))
            .map(|line| line.replace("turnstile.my_jobs", "turnstile.job_status"))
    }

    #[test]
    fn twins_differ_in_what_a_role_may_see_alone() {
        for [mine, status] in TWINS {
            let mut rest = lines(status)
                .filter(|line| line != "NULL::text AS line")
                .peekable();
            for line in lines(mine) {
                if rest.next_if_eq(&line).is_none() {
                    let is_more = MORE.iter().any(|word| line.contains(word));
                    let is_pattern = line.starts_with("'[0-9a-f");
                    assert!(is_more || is_pattern, "{line}");
                }
            }
            assert_eq!(rest.next(), None);
        }
    }
}
