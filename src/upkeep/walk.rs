//! All jobs that must be looked at, found in the tables: for those of which memory has forgotten.
//!
//! It goes from job to job in order of their ids, some at a time, so that what others have locked is passed and not met again.

use crate::pg::call::datum;
use crate::pg::error::Result;
use crate::pg::seeded::{Seeded, armed};
use crate::pg::spi::{Spi, Statement, statement};
use crate::shmem::{Part, Walk};

static ANY: Statement = statement!("any_follow_up", []);
static FOLLOWERS: Statement = statement!("next_followers", [INT8OID, INT8OID]);
static BATCHES: Statement = statement!("next_batches", [INT8OID, INT8OID]);
static BLOCKED: Statement = statement!("next_blocked", [INT8OID, INT8OID]);

/// Rows that are read for each job that may be found.
const READ_FOR_EACH: usize = 16;

/// Up to `most` jobs that must be looked at, and where it goes on; none: it is over.
pub fn go_on(spi: &Spi, mut walk: Walk, most: usize) -> Result<(Vec<i64>, Option<Walk>)> {
    let mut found = Vec::new();
    if !spi.run(&ANY, &[])?.required::<bool>(0, 1)? {
        return Ok((found, None));
    }
    loop {
        if let Some(from) = read_on(spi, walk, most, &mut found)? {
            let next = Walk { from, ..walk };
            return Ok((found, (!armed(Seeded::ForgetTheRest)).then_some(next)));
        }
        match walk.part.next() {
            Some(part) => walk = Walk::through(part),
            None => return Ok((found, None)),
        }
    }
}

/// Returns where the part goes on; none: it is over.
fn read_on(spi: &Spi, walk: Walk, most: usize, found: &mut Vec<i64>) -> Result<Option<i64>> {
    let statement = match walk.part {
        Part::Batches => &BATCHES,
        Part::Followers => &FOLLOWERS,
        Part::Blocked => &BLOCKED,
    };
    let read = most.saturating_mul(READ_FOR_EACH);
    let limit = i64::try_from(read).unwrap_or(i64::MAX);
    let rows = spi.run(statement, &[datum(walk.from), datum(limit)])?;
    for row in 0..rows.len() {
        let job: i64 = rows.required(row, 1)?;
        if rows.required(row, 2)? {
            found.push(job);
        }
        if found.len() >= most || row + 1 == read {
            return Ok(job.checked_add(1));
        }
    }
    Ok(None)
}
