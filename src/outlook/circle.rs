//! Jobs that wait for each other, so that none of them starts by itself: through batches, what comes after what, and sessions that are
//! held meanwhile. Which sessions are held is known only when jobs have started, so no call can refuse all of them.

use super::blocker::{Blocker, Reason};
use super::job::Waiting;
use super::why;
use crate::pg::error::Result;
use crate::pg::spi::Spi;
use pgrx::pg_sys;
use std::collections::BTreeSet;

/// Jobs that are looked at.
const MOST: usize = 100;

/// The circle for which the job waits by this reason, if there is one; the job may be one of it.
pub fn behind(
    spi: &Spi,
    job_table: pg_sys::Oid,
    job: &Waiting,
    blocker: &Blocker,
) -> Result<Vec<i64>> {
    let mut search = Search {
        spi,
        job_table,
        path: vec![job.id],
        seen: BTreeSet::new(),
    };
    match next(blocker) {
        Some(holder) => Ok(search.follow(holder)?.unwrap_or_default()),
        None => Ok(Vec::new()),
    }
}

/// The job that must end first.
fn next(blocker: &Blocker) -> Option<i64> {
    let waits = matches!(
        blocker.reason,
        Reason::Blocked | Reason::SessionBusy | Reason::SessionOrder
    );
    blocker.holder.filter(|_| waits)
}

struct Search<'a> {
    spi: &'a Spi,
    job_table: pg_sys::Oid,
    path: Vec<i64>,
    seen: BTreeSet<i64>,
}

impl Search<'_> {
    /// A job that runs, or has ended, waits for nothing.
    fn follow(&mut self, id: i64) -> Result<Option<Vec<i64>>> {
        pgrx::check_for_interrupts!();
        if let Some(first) = self.path.iter().position(|&job| job == id) {
            return Ok(Some(self.path.iter().skip(first).copied().collect()));
        }
        if self.seen.len() >= MOST || !self.seen.insert(id) {
            return Ok(None);
        }
        let Some(job) = Waiting::find(self.spi, id)? else {
            return Ok(None);
        };
        self.path.push(id);
        for blocker in why::lasting(self.spi, self.job_table, &job)? {
            let found = next(&blocker).map(|holder| self.follow(holder));
            if let Some(circle) = found.transpose()?.flatten() {
                return Ok(Some(circle));
            }
        }
        self.path.pop();
        Ok(None)
    }
}
