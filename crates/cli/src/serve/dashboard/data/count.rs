//! How many jobs there are, as far as they were counted.

use super::rest::Rest;

/// Counts end here.
pub const MOST_COUNTED: i64 = 10_000;

pub struct Count {
    /// At most `MOST_COUNTED`.
    pub jobs: i64,
    pub rest: Rest,
    /// Whether ends from which a job was brought back are left out.
    pub is_exact: bool,
}

impl Count {
    /// Whether there may be more than were counted.
    pub fn is_capped(&self) -> bool {
        self.rest != Rest::Nothing
    }

    pub fn and(self, other: Self) -> Self {
        let jobs = self.jobs + other.jobs;
        let rest = match (self.rest, other.rest) {
            (Rest::Nothing, rest) | (rest, Rest::Nothing) => rest,
            (Rest::Unknown(id), Rest::Unknown(other)) => Rest::Unknown(id.max(other)),
            (Rest::Unknown(id), _) | (_, Rest::Unknown(id)) => Rest::Unknown(id),
            (Rest::Unread(missing), _) | (_, Rest::Unread(missing)) => Rest::Unread(missing),
            (more, Rest::More(_)) => more,
        };
        Self {
            jobs: jobs.min(MOST_COUNTED),
            rest: match rest {
                _ if jobs >= MOST_COUNTED => Rest::More(i64::MAX),
                rest => rest,
            },
            is_exact: self.is_exact && other.is_exact,
        }
    }
}
